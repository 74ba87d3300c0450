//! What a run says while it goes, to people and to machines, and the page that is made of it.

#[path = "support/process.rs"]
mod process;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use becalm::server::{Listening, Model, Server, Spread};
use process::Ended;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a batch of 15 texts, and a server that allows 10 requests per 2 s.
struct Desk {
    folder: TempDir,
    server: Arc<Server>,
    listening: Listening,
}

impl Desk {
    async fn new() -> Self {
        let model = Model {
            window: Duration::from_secs(2),
            latency: Spread::exactly(Duration::from_millis(20)),
            limit_headers: true,
            ..Model::default()
        };
        let server = Arc::new(Server::new(model));
        let listening = Listening::on_port(0, Arc::clone(&server)).await.unwrap();
        let folder = TempDir::new().unwrap();
        let lines = (0..15).map(|n| format!("{{\"id\":\"doc-{n}\",\"text\":\"Text number {n}.\"}}\n"));
        fs::write(folder.path().join("in.jsonl"), lines.collect::<String>()).unwrap();
        Self { folder, server, listening }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    async fn run(&self, arguments: &[&str]) -> Ended {
        let url = self.listening.base_url();
        let common =
            ["run", "in.jsonl", "--model", "m", "--base-url", &url, "--jitter", "100ms", "--max-in-flight", "15"];
        becalm(self.path(), &[&common, arguments].concat()).await
    }

    fn events(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.path().join("events.jsonl")).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// More than the server allows, so that something is refused: what it states would be kept to.
const TOO_MUCH: &str = "100/2s";

async fn becalm(folder: &Path, arguments: &[&str]) -> Ended {
    process::becalm(folder, arguments, "").await
}

fn count(events: &[Value], name: &str) -> usize {
    events.iter().filter(|event| event["event"] == name).count()
}

/// The diagnosis that was missing for nine weeks.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_shown_with_its_headers_where_that_is_wanted() {
    let desk = Desk::new().await;
    let ended = desk.run(&["-v", "-o", "out.jsonl", "--limit", TOO_MUCH]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("refused doc-"), "{}", ended.stderr);
    assert!(ended.stderr.contains("\n  retry-after: 2\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("\n  x-ratelimit-remaining-requests: 0\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing is sent until "), "{}", ended.stderr);

    let desk = Desk::new().await;
    let ended = desk.run(&["-o", "out.jsonl"]).await;
    assert!(ended.stderr.starts_with("requests go to 127.0.0.1:"), "{}", ended.stderr);
    assert!(ended.stderr.contains("\ndocuments 15 answered"), "{}", ended.stderr);

    let desk = Desk::new().await;
    let ended = desk.run(&["-q"]).await;
    assert_eq!((ended.code, ended.stderr.as_str(), ended.stdout.lines().count()), (0, "", 15));
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_are_traced_where_that_is_wanted() {
    let desk = Desk::new().await;
    let ended = desk.run(&["-vv", "-o", "out.jsonl", "--limit", TOO_MUCH]).await;
    for part in ["the component is there", "the input is read", "the journal is open", "answered status=429"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_log_has_every_request_and_a_second_run_goes_on_in_it() {
    let desk = Desk::new().await;
    let ended = desk.run(&["-o", "out.jsonl", "--events", "events.jsonl", "--json", "--limit", TOO_MUCH]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let events = desk.events();
    let stats = desk.server.stats();
    assert_eq!(count(&events, "sent") as u64, stats.received);
    assert_eq!(count(&events, "refused") as u64, stats.refused);
    assert!(stats.refused > 0);
    assert_eq!((count(&events, "outcome"), count(&events, "summary")), (15, 1));
    assert_eq!((&events[0]["event"], &events[0]["documents"]), (&"started".into(), &15.into()));
    assert!(events.iter().all(|event| event["at_epoch_ms"].as_u64() > Some(1_700_000_000_000)), "{events:?}");
    let said = ended.stderr.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    assert_eq!(said, events, "what is said to machines is the same");

    assert_eq!(desk.run(&["-o", "out.jsonl", "--events", "events.jsonl"]).await.code, 0);
    let again = desk.events();
    assert_eq!(again[..events.len()], events);
    assert_eq!((count(&again, "started"), count(&again, "sent")), (2, count(&events, "sent")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_made_of_results_and_events() {
    let desk = Desk::new().await;
    assert_eq!(desk.run(&["-o", "out.jsonl", "--events", "events.jsonl"]).await.code, 0);
    let arguments = ["report", "out.jsonl", "--events", "events.jsonl", "-o", "report.html"];
    let ended = becalm(desk.path(), &arguments).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    let page = fs::read_to_string(desk.path().join("report.html")).unwrap();
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data = serde_json::from_str::<Value>(data).unwrap();
    let documents = data["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 15);
    assert!(documents.iter().all(|document| document[1] == "answered"), "{documents:?}");
    let tries = documents.iter().flat_map(|document| document[2].as_array().unwrap());
    assert_eq!(tries.filter(|sent| sent[2] == "refused").count() as u64, desk.server.stats().refused);
    assert_eq!(data["waits_ms"].as_array().unwrap().len() as u64, desk.server.stats().refused);
    assert_eq!(data["limit"]["amount"], 10, "{}", data["limit"]);
    assert!(!data["pauses"].as_array().unwrap().is_empty());

    // Without events, and into a pipe.
    let ended = becalm(desk.path(), &["report", "out.jsonl"]).await;
    assert!(ended.code == 0 && ended.stdout.starts_with("<!DOCTYPE html>"), "{}", ended.stderr);
    for (arguments, message) in [
        (["report", "none.jsonl"], "cannot read none.jsonl"),
        (["report", "report.html"], "report.html holds no results: line 1"),
    ] {
        let ended = becalm(desk.path(), &arguments).await;
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
}

/// `2>&1 | head -1`, and a log that was cut off in the middle of a line.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_listens_is_no_reason_to_lose_anything() {
    let desk = Desk::new().await;
    fs::write(
        desk.path().join("events.jsonl"),
        "{\"event\":\"started\",\"at_epoch_ms\":1,\"limits\":[]}\n{\"event\":\"se",
    )
    .unwrap();
    let url = desk.listening.base_url();
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.current_dir(desk.path()).env_clear().args([
        "run",
        "in.jsonl",
        "--model",
        "m",
        "--base-url",
        &url,
        "--json",
    ]);
    command.args(["-o", "out.jsonl", "--events", "events.jsonl", "--limit", "10/2s"]);
    let status = tokio::task::spawn_blocking(move || {
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        child.wait().unwrap()
    });
    assert_eq!(status.await.unwrap().code(), Some(0));
    assert_eq!(fs::read_to_string(desk.path().join("out.jsonl")).unwrap().lines().count(), 15);
    let ended = becalm(desk.path(), &["report", "out.jsonl", "--events", "events.jsonl", "-o", "report.html"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let ended = becalm(desk.path(), &["report", "out.jsonl", "-o", "out.jsonl"]).await;
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("out.jsonl holds what the page is made of"), "{}", ended.stderr);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn an_event_log_that_cannot_be_written_ends_and_the_batch_does_not() {
    let desk = Desk::new().await;
    let ended = desk.run(&["-o", "out.jsonl", "--events", "/dev/full", "--limit", "10/2s"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: cannot write the events, which end here"), "{}", ended.stderr);
}
