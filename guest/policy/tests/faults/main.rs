//! Batches against endpoints that refuse, fail, cut off, reset, go away and come back, with bad documents among the good
//! ones: no good document is lost, every document has one outcome, and what the trouble adds to the load is bounded.
//! `make faults` plays more of them, from a seed by the date.

mod endpoint;
mod run;

use run::Run;

#[test]
fn nothing_is_lost_to_faults_that_pass() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (first, count) = (number("BECALM_SEED", 1), number("BECALM_COUNT", 200));
    let mut most: f64 = 0.0;
    for seed in first..first + count {
        let run = Run::of(seed);
        assert_eq!(run.outcomes, run.documents, "seed {seed}: every document has one outcome");
        assert_eq!(run.lost, Vec::<String>::new(), "seed {seed}: good documents are lost");
        let per_document = (run.sent - run.refused) as f64 / run.documents as f64;
        assert!(per_document <= 1.2, "seed {seed}: {per_document:.3} requests per document beside refusals");
        most = most.max(per_document);
    }
    println!("{count} batches from seed {first}: none lost, {most:.3} requests per document at most");
}
