//! Three sessions that do not know of each other, on one key: 50 documents each, three in flight each, 10 requests per 60 s
//! for all. Nothing may be lost on any server; the table says what it cost.

mod support;

use std::sync::Arc;
use std::time::Duration;

use becalm::server::{HintForm, Kind, Model, Server};
use becalm::{Outcome, Verdict};
use support::{bring_home, documents, keep, settings};
use tokio::time::Instant;

fn servers() -> Vec<(&'static str, Model)> {
    let server = |limiter, hint| Model { limiter, hint, ..Model::default() };
    let strict = || server(Kind::RollingStrict, HintForm::Seconds);
    vec![
        ("A rolling", Model::default()),
        ("A rolling, headers", Model { limit_headers: true, ..Model::default() }),
        ("B strict", strict()),
        ("C rolling, no hint", server(Kind::Rolling, HintForm::None)),
        ("D strict, no hint", server(Kind::RollingStrict, HintForm::None)),
        ("E strict, hint counts refused", Model { hint_counts_refused: true, ..strict() }),
        ("F token bucket", server(Kind::TokenBucket, HintForm::Seconds)),
        ("G fixed window", server(Kind::FixedWindow, HintForm::Seconds)),
        ("H 2 places", Model { requests: 2, ..server(Kind::Concurrency, HintForm::None) }),
        (
            "S 60 per 60 s as 1 per 1 s",
            Model { requests: 60, subwindow: Some(Duration::from_secs(1)), ..Model::default() },
        ),
        ("T tokens", Model { tokens: Some(4_000), ..Model::default() }),
        ("N none", server(Kind::None, HintForm::None)),
    ]
}

/// The time that one client with nine in flight would need who knows the limit.
fn ideal(model: &Model) -> f64 {
    match (model.limiter, model.subwindow, model.tokens) {
        (Kind::None, ..) => 17.0,
        (Kind::Concurrency, ..) => 75.0,
        (_, Some(_), _) => 150.0,
        // Seven of these documents take the tokens of a window.
        (.., Some(_)) => 21.0 * 60.0 + 1.0,
        (Kind::TokenBucket, ..) => 140.0 * 6.0 + 1.0,
        _ => 14.0 * 60.0 + 2.0,
    }
}

async fn line(name: &str, model: Model) -> String {
    let ideal = ideal(&model);
    let server = Arc::new(Server::new(model));
    let started = Instant::now();
    let mut sessions = vec![];
    for seed in 1..=3 {
        let mut settings = settings();
        settings.seed = Some(seed);
        settings.limits.max_in_flight = 3;
        settings.retry.patience = 24 * 60 * 60 * 1_000;
        sessions.push(Box::pin(bring_home(&server, settings, documents(50))));
    }
    let [first, second, third] = <[_; 3]>::try_from(sessions).unwrap_or_else(|_| unreachable!());
    let (first, second, third) = tokio::join!(first, second, third);
    let elapsed = started.elapsed().as_secs_f64();
    let is_answered = |outcome: &&Outcome| matches!(outcome.verdict, Verdict::Answered(_));
    let answered =
        [first, second, third].iter().map(|(_, outcomes)| outcomes.iter().filter(is_answered).count()).sum::<usize>();
    let line = format!(
        "| {name} | {answered} | {} | {} | {elapsed:.1} | {ideal:.1} | {:.3} |",
        150 - answered,
        server.stats().refused,
        ideal / elapsed
    );
    assert_eq!(answered, 150, "{line}");
    line
}

#[tokio::test(start_paused = true)]
async fn three_on_one_key_lose_nothing() {
    let mut table = String::from(HEAD);
    for (name, model) in servers() {
        table += &line(name, model).await;
        table.push('\n');
    }
    keep(&table, "sharing.md");
}

const HEAD: &str = "\
## Three sessions that do not know of each other, 50 documents each, on one key of 10 requests per 60 s

*Ideal* is one client with nine in flight that knows the limit to the millisecond.

| server | answered | lost | refusals | time, s | ideal, s | efficiency |
|---|--:|--:|--:|--:|--:|--:|
";
