//! A run that is started again a moment after another was broken off: what that one sent is still in the endpoint's window,
//! and nobody tells. It must cost one wait, not the limit that was set.

mod support;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use becalm::server::{HintForm, Kind, Model, Server};
use becalm::{Rate, Unit};
use support::{bring_home, documents, settings};
use tokio::time::Instant;

/// Seconds and refusals of a second session that starts ten seconds after the first, which took most of a window.
async fn second(model: Model) -> (f64, u64) {
    let server = Arc::new(Server::new(model));
    let mut settings = settings();
    settings.limits.rates = vec![Rate { unit: Unit::Requests, amount: 10, window: 60_000 }];
    bring_home(&server, settings.clone(), documents(8)).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (before, started) = (server.stats().refused, Instant::now());
    let (_, outcomes) = bring_home(&server, settings, documents(40)).await;
    assert_eq!(outcomes.len(), 40);
    (started.elapsed().as_secs_f64(), server.stats().refused - before)
}

/// Without the first run, 40 documents take 182 s; with it, up to a window more.
#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_at_once_is_as_fast_as_one_that_waited() {
    let strict = || Model { limiter: Kind::RollingStrict, ..Model::default() };
    let mut said = String::new();
    for (name, model, most_seconds, most_refusals) in [
        ("rolling", Model::default(), 250.0, 8),
        ("rolling, headers", Model { limit_headers: true, ..Model::default() }, 250.0, 8),
        // What is refused fills the next window too.
        ("strict", strict(), 315.0, 16),
        ("fixed window", Model { limiter: Kind::FixedWindow, ..Model::default() }, 250.0, 8),
        ("rolling, ms", Model { hint: HintForm::Milliseconds, ..Model::default() }, 250.0, 8),
    ] {
        let (seconds, refusals) = second(model).await;
        writeln!(said, "{name}: {seconds:.1} s, {refusals} refusals").unwrap();
        if seconds > most_seconds || refusals > most_refusals {
            said.push_str("  too much\n");
        }
    }
    println!("{said}");
    assert!(!said.contains("too much"), "{said}");
}
