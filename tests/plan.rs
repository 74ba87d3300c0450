//! What a run will take, predicted and kept: `becalm plan`, `--budget`, `--deadline`, against servers that count.

#[path = "support/process.rs"]
mod process;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becalm::server::{Kind, Listening, Model, Server, Spread};
use process::Ended;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a batch of texts.
fn batch(documents: usize) -> TempDir {
    let folder = TempDir::new().unwrap();
    let lines = (0..documents).map(|n| format!("{{\"id\":\"{n}\",\"text\":\"Text number {n}.\"}}\n"));
    fs::write(folder.path().join("in.jsonl"), lines.collect::<String>()).unwrap();
    folder
}

/// The figures: of a plan on standard output, of a run at the end of standard error.
fn figures(ended: &Ended) -> Value {
    let text = if ended.stdout.is_empty() { &ended.stderr } else { &ended.stdout };
    serde_json::from_str(text.lines().last().unwrap()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

async fn becalm(folder: &Path, command: &str, arguments: &[&str]) -> Ended {
    process::becalm(folder, &[&[command, "in.jsonl", "--model", "m"], arguments].concat(), "").await
}

async fn serve(model: Model) -> (Arc<Server>, Listening) {
    let server = Arc::new(Server::new(model));
    let listening = Listening::on_port(0, Arc::clone(&server)).await.unwrap();
    (server, listening)
}

/// The reference job, with a tenth of its times.
#[tokio::test(flavor = "multi_thread")]
async fn the_forecast_of_the_reference_job_is_within_two_per_cent_of_a_run() {
    let told = ["--limit", "10/6s"];
    tokio::join!(forecast(&told, &told), forecast(&[], &["--assume-limit", "10/6s"]));
}

async fn forecast(of_run: &[&str], of_plan: &[&str]) {
    // Machines are noisy: one of three runs has to show what the others may have hidden.
    let mut ratios = vec![];
    while ratios.len() < 3 {
        ratios.push(forecast_by_run(of_run, of_plan).await);
        if (ratios[ratios.len() - 1] - 1.0).abs() < 0.02 {
            return;
        }
    }
    panic!("predicted, of what it took: {ratios:?}");
}

async fn forecast_by_run(of_run: &[&str], of_plan: &[&str]) -> f64 {
    let (server, listening) = serve(Model {
        window: Duration::from_secs(6),
        latency: Spread::exactly(Duration::from_millis(100)),
        ..Model::default()
    })
    .await;
    let common = ["--max-in-flight", "3", "--seed", "1", "--jitter", "200ms", "--json"];
    let (folder, url) = (batch(50), listening.base_url());
    let of_run = [&common[..], of_run, &["--base-url", &url, "-o", "out.jsonl"]].concat();
    let of_plan = [&common[..], of_plan, &["--latency", "100ms"]].concat();
    let run = becalm(folder.path(), "run", &of_run).await;
    // After the run, so as not to slow it down.
    let plan = becalm(folder.path(), "plan", &of_plan).await;
    assert_eq!((run.code, plan.code), (0, 0), "{}{}", run.stderr, plan.stderr);
    let (run, plan) = (figures(&run), figures(&plan));
    let (took, predicted) = (run["elapsed_ms"].as_f64().unwrap(), plan["elapsed_ms"].as_f64().unwrap());
    println!("{took} ms, predicted {predicted} ms: {:.4}", predicted / took);
    assert_eq!((&plan["answered"], &run["answered"]), (&50.into(), &50.into()));
    assert_eq!(run["refusals"], server.stats().refused);
    // Where the limit is learnt, a request more or less may meet it on a real socket.
    let most_apart = if plan["limits_are_assumed"] == true { 2 } else { 0 };
    assert!(plan["refusals"].as_u64().unwrap().abs_diff(server.stats().refused) <= most_apart, "{plan} {run}");
    predicted / took
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_needs_no_endpoint_and_changes_no_file() {
    let folder = batch(4);
    let answered = r#"{"custom_id":"2","response":{"status_code":200,"body":{}},"error":null}"#;
    let results = format!("{answered}\n{{\"custom_id\":\"3\",\"res");
    fs::write(folder.path().join("out.jsonl"), &results).unwrap();
    for (command, of_plan) in [("plan", &[][..]), ("run", &["--dry-run"])] {
        let arguments = [&["-o", "out.jsonl", "--limit", "1/10m", "--json"], of_plan].concat();
        let plan = becalm(folder.path(), command, &arguments).await;
        assert_eq!(plan.code, 0, "{}", plan.stderr);
        let figures = figures(&plan);
        assert_eq!((&figures["answered_before"], &figures["requests"]), (&1.into(), &3.into()), "{figures}");
        assert!((1_200_000..1_230_000).contains(&figures["elapsed_ms"].as_u64().unwrap()), "{figures}");
        assert_eq!(fs::read_to_string(folder.path().join("out.jsonl")).unwrap(), results);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

/// Every limit that is given is in the model too.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_keeps_to_all_limits_and_tells_how_far_budget_and_deadline_reach() {
    let folder = batch(50);
    let limits = ["--limit", "10/60s", "--limit", "30/1h", "--json"];
    let plan = figures(&becalm(folder.path(), "plan", &limits).await);
    assert_eq!((&plan["answered"], &plan["refusals"]), (&50.into(), &0.into()), "{plan}");
    assert!((3_600_000..3_800_000).contains(&plan["elapsed_ms"].as_u64().unwrap()), "{plan}");
    let plan = figures(&becalm(folder.path(), "plan", &[&limits[..], &["--deadline", "50ms"]].concat()).await);
    assert_eq!((&plan["answered"], &plan["stopped"]), (&0.into(), &"deadline".into()), "{plan}");
    let plan = figures(&becalm(folder.path(), "plan", &[&limits[..], &["--deadline", "5m"]].concat()).await);
    assert_eq!((&plan["answered"], &plan["stopped"]), (&30.into(), &"deadline".into()), "{plan}");
    let money = ["--price-in", "1", "--price-out", "1", "--budget", "0.01"];
    let plan = figures(&becalm(folder.path(), "plan", &[&limits[..], &money].concat()).await);
    assert_eq!(plan["stopped"], "budget", "{plan}");
    assert!(plan["cost"].as_f64().unwrap() <= 0.01 && plan["answered"].as_u64().unwrap() >= 15, "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_not_passed_and_the_next_run_goes_on() {
    let (server, listening) = serve(Model {
        limiter: Kind::None,
        latency: Spread::exactly(Duration::from_millis(5)),
        full_answers: true,
        ..Model::default()
    })
    .await;
    let folder = batch(40);
    let url = listening.base_url();
    let common = ["--base-url", &url, "-o", "out.jsonl", "--price-in", "2", "--price-out", "10", "--json"];
    // An answer takes 512 tokens: each document costs 0.0052 and a little.
    let money = ["--budget", "0.1", "--max-in-flight", "4"];
    let run = becalm(folder.path(), "run", &[&common[..], &money].concat()).await;
    assert_eq!(run.code, 3, "{}", run.stderr);
    let figures = figures(&run);
    assert_eq!(figures["stopped"], "budget", "{figures}");
    let (cost, answered) = (figures["cost"].as_f64().unwrap(), figures["answered"].as_u64().unwrap());
    assert!(cost <= 0.1 && answered >= 17, "{figures}");
    assert_eq!(server.stats().received, answered);
    let run = becalm(folder.path(), "run", &common).await;
    assert_eq!((run.code, server.stats().received), (0, 40), "{}", run.stderr);

    let run = becalm(folder.path(), "run", &["--base-url", &url, "--budget", "1"]).await;
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("hint: name them with --price-in and --price-out"), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_is_kept_and_what_is_on_the_wire_comes_home() {
    let (server, listening) = serve(Model {
        requests: 5,
        window: Duration::from_secs(1),
        latency: Spread::exactly(Duration::from_millis(20)),
        ..Model::default()
    })
    .await;
    let folder = batch(200);
    let url = listening.base_url();
    let arguments = ["--base-url", &url, "-o", "out.jsonl", "--limit", "5/1s", "--deadline", "3s", "--json"];
    let run = becalm(folder.path(), "run", &arguments).await;
    assert_eq!(run.code, 3, "{}", run.stderr);
    let figures = figures(&run);
    assert_eq!(figures["stopped"], "deadline", "{figures}");
    assert!((2_500..4_000).contains(&figures["elapsed_ms"].as_u64().unwrap()), "{figures}");
    assert_eq!(figures["answered"], server.stats().answered);
    assert!(figures["answered"].as_u64().unwrap() >= 10, "{figures}");
}
