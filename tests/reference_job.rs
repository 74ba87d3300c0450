//! The reference job in virtual time: 50 documents, 10 requests per rolling minute, 3 in flight, answers after 1 s.

mod support;

use std::time::Duration;

use becalm::server::{HintForm, Kind, Model};
use becalm::{Rate, Settings, Unit};
use support::{Run, documents, run, settings};

const MODELS: [(&str, Kind, HintForm); 5] = [
    ("A rolling, seconds", Kind::Rolling, HintForm::Seconds),
    ("B rolling-strict, seconds", Kind::RollingStrict, HintForm::Seconds),
    ("C rolling, no hint", Kind::Rolling, HintForm::None),
    ("D rolling-strict, no hint", Kind::RollingStrict, HintForm::None),
    ("F token-bucket, seconds", Kind::TokenBucket, HintForm::Seconds),
];

/// m · W + ⌈(N − R·m) / C⌉ · L with m = ⌊(N − 1) / R⌋: what a client reaches that may not know more than 10 per minute.
const BOUND: f64 = 244.0;

fn model(limiter: Kind, hint: HintForm) -> Model {
    Model { limiter, hint, ..Model::default() }
}

async fn job_settings() -> Settings {
    let mut settings = settings().await;
    settings.limits.max_in_flight = 3;
    settings
}

fn ten_per_minute() -> Rate {
    Rate { unit: Unit::Requests, amount: 10, window: 60_000 }
}

fn row(name: &str, run: &Run, bound: f64) -> String {
    format!(
        "{name:<28} {:>8} {:>9} {:>8.1} {:>6.3}",
        run.answered(),
        run.stats.refused,
        run.seconds(),
        bound / run.seconds()
    )
}

#[tokio::test(start_paused = true)]
async fn with_the_limit_given_nothing_is_refused_and_the_bound_is_reached() {
    for (name, limiter, hint) in MODELS {
        let mut settings = job_settings().await;
        settings.limits.rates = vec![ten_per_minute()];
        let run = run(model(limiter, hint), settings, documents(50)).await;
        println!("{}", row(name, &run, BOUND));
        assert_eq!(run.answered(), 50, "{name}");
        assert_eq!(run.stats.refused, 0, "{name}");
        let margins = 4.0 * 0.25;
        assert!(run.seconds() <= 1.01 * BOUND + margins, "{name}: {} s", run.seconds());
    }
}

#[tokio::test(start_paused = true)]
async fn with_the_limit_unknown_nothing_is_lost() {
    for limit_headers in [false, true] {
        println!("limit headers: {limit_headers}\n{:<28} answered refusals  seconds  eff.", "");
        for (name, limiter, hint) in MODELS {
            let model = Model { limit_headers, ..model(limiter, hint) };
            let run = run(model, job_settings().await, documents(50)).await;
            println!("{}", row(name, &run, BOUND));
            assert_eq!(run.answered(), 50, "{name}");
            assert!(run.elapsed < Duration::from_secs(1_200), "{name}: {} s", run.seconds());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn on_other_servers_nothing_is_lost_either() {
    let sixty = Model { requests: 60, subwindow: Some(Duration::from_secs(1)), ..Model::default() };
    let two_at_a_time = Model { requests: 2, ..model(Kind::Concurrency, HintForm::None) };
    for (name, model, bound) in [
        ("G fixed-window, seconds", model(Kind::FixedWindow, HintForm::Seconds), BOUND),
        ("A rolling, ms", model(Kind::Rolling, HintForm::Milliseconds), BOUND),
        ("A rolling, date", model(Kind::Rolling, HintForm::Date), BOUND),
        ("S 60 as 1 per 1 s, seconds", sixty, 50.0),
        ("H 2 at a time, no hint", two_at_a_time, 25.0),
        ("N none", model(Kind::None, HintForm::None), 17.0),
    ] {
        let run = run(model, job_settings().await, documents(50)).await;
        println!("{}", row(name, &run, bound));
        assert_eq!(run.answered(), 50, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_runs_with_one_seed_are_the_same() {
    let mut runs = vec![];
    for seed in [7, 7, 8] {
        let mut settings = job_settings().await;
        settings.seed = Some(seed);
        settings.trace = true;
        runs.push(run(model(Kind::Rolling, HintForm::Seconds), settings, documents(50)).await);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0].timeline, runs[2].timeline, "the seed has no effect");
}
