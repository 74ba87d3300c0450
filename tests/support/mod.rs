//! Runs the real component in virtual time against the server models: hours of waiting pass in milliseconds.

#![allow(dead_code, reason = "every test program uses a part of it")]

pub(crate) mod endpoint;
pub(crate) mod on_component;
pub(crate) mod on_policy;
pub(crate) mod scenario;

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use becalm::server::{Arrival, InProcess, Model, Server, Stats};
use becalm::{Access, Clock, Document, Event, Happening, Outcome, Sandbox, Settings, Verdict};
use tokio::time::Instant;

/// The component, compiled once per test program, in tokio's time.
pub(crate) static SANDBOX: LazyLock<Sandbox> =
    LazyLock::new(|| Sandbox::new().unwrap().in_time(Clock::Virtual(Duration::from_secs(EPOCH))));

/// 2026-11-30T12:00:00Z
pub(crate) const EPOCH: u64 = 1_796_040_000;

/// What happened in a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) elapsed: Duration,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) events: Vec<Event>,
    pub(crate) stats: Stats,
    pub(crate) timeline: Vec<Arrival>,
}

impl Run {
    pub(crate) fn answered(&self) -> usize {
        self.outcomes.iter().filter(|outcome| matches!(outcome.verdict, Verdict::Answered(_))).count()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.elapsed.as_secs_f64()
    }
}

/// Settings for a server in process, with a fixed seed.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.endpoint.base_url = "http://model.invalid/v1".into();
    settings.chat.model = "mock".into();
    settings.seed = Some(1);
    settings
}

/// Short texts.
pub(crate) fn documents(count: usize) -> Vec<Document> {
    (0..count).map(|n| Document::text(format!("doc-{n:04}"), format!("Text number {n}."))).collect()
}

/// Brings documents through a model. Call it with tokio's clock paused.
pub(crate) async fn run(model: Model, settings: Settings, documents: Vec<Document>) -> Run {
    let server = Arc::new(Server::new(Model { keeps_timeline: true, ..model }));
    let started = Instant::now();
    let (events, outcomes) = bring_home(&server, settings, documents).await;
    Run { elapsed: started.elapsed(), outcomes, events, stats: server.stats(), timeline: server.timeline() }
}

/// One session against a server that may have others.
pub(crate) async fn bring_home(
    server: &Arc<Server>,
    settings: Settings,
    documents: Vec<Document>,
) -> (Vec<Event>, Vec<Outcome>) {
    let access = Access::new(&settings.endpoint.base_url, None).unwrap();
    let sender = Arc::new(InProcess(Arc::clone(server)));
    let mut session = SANDBOX.open(settings, access, sender).await.unwrap();
    session.submit(documents).await.unwrap();
    let (mut events, mut outcomes) = (vec![], vec![]);
    while !session.is_done().await.unwrap() {
        for event in session.next(Duration::from_secs(3600)).await.unwrap() {
            if let Happening::Outcome(outcome) = &event.what {
                outcomes.push(outcome.clone());
            }
            events.push(event);
        }
    }
    (events, outcomes)
}

/// Compares a table with its file, or writes the file where that is asked for.
pub(crate) fn keep(table: &str, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/matrix").join(file);
    if std::env::var_os("BECALM_WRITE").is_some() {
        std::fs::write(&path, table).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == table,
        "{} is not what this code does: run `make matrix` and look at the difference",
        path.display()
    );
}
