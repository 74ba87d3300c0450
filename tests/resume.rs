//! The output file is the journal: a process that is killed at any instant has lost nothing that was answered, and a later
//! one pays for nothing twice. Real processes, real kills.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// Answers after a while, and knows how often each document came.
#[derive(Clone, Default)]
struct Endpoint {
    /// How long its answers are.
    text_bytes: usize,
    came: Arc<Mutex<HashMap<String, u32>>>,
}

impl Endpoint {
    /// Listens; returns its base URL.
    async fn listen(&self, latency: Duration) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let endpoint = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let endpoint = endpoint.clone();
                let service = service_fn(move |request| endpoint.clone().answer(request, latency));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        url
    }

    async fn answer(
        self,
        request: http::Request<Incoming>,
        latency: Duration,
    ) -> Result<http::Response<Full<Bytes>>, hyper::Error> {
        let body = request.into_body().collect().await?.to_bytes();
        let body = serde_json::from_slice::<Value>(&body).unwrap();
        let text = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        let document = text.rsplit(' ').next().unwrap().to_string();
        *self.came.lock().unwrap().entry(document).or_default() += 1;
        sleep(latency).await;
        let message = json!({"role": "assistant", "content": "x".repeat(self.text_bytes.max(1))});
        let body = json!({"choices": [{"message": message, "finish_reason": "stop"}]}).to_string();
        Ok(http::Response::new(Full::new(body.into())))
    }

    fn came(&self) -> HashMap<String, u32> {
        self.came.lock().unwrap().clone()
    }
}

fn write_documents(folder: &Path, count: usize) {
    let lines = (0..count).map(|n| format!("{{\"id\": \"{n}\", \"text\": \"document {n}\"}}\n")).collect::<String>();
    fs::write(folder.join("in.jsonl"), lines).unwrap();
}

fn run(folder: &Path, url: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.current_dir(folder).env_remove("OPENAI_BASE_URL").env_remove("OPENAI_API_KEY");
    command.args(["run", "in.jsonl", "--base-url", url, "--model", "m", "-o", "out.jsonl"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

async fn end(child: Child) -> (Option<i32>, String) {
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Ids with an answer, from every whole line.
fn answered(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("out.jsonl")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answers = lines.filter(|line| line["error"].is_null());
    answers.map(|line| line["custom_id"].as_str().unwrap().to_string()).collect()
}

async fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
    panic!("it does not come to that");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_kills_lose_nothing_and_repeat_nothing() {
    let (folder, endpoint) = (TempDir::new().unwrap(), Endpoint::default());
    let url = endpoint.listen(Duration::from_millis(10)).await;
    write_documents(folder.path(), DOCUMENTS);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    // What was in the file after the kill before.
    let mut safe = HashSet::new();
    for kill in 0..KILLS {
        let before = endpoint.came().len();
        let mut child = run(folder.path(), &url, &["--max-in-flight", "8"]);
        until(|| endpoint.came().len() > before || child.try_wait().unwrap().is_some()).await;
        sleep(Duration::from_millis(random.random_range(0..60))).await;
        child.kill().unwrap();
        end(child).await;
        // Requests that were on their way may still arrive.
        sleep(Duration::from_millis(20)).await;
        let again = endpoint.came();
        assert!(
            !safe.iter().any(|document| again.contains_key(document)),
            "kill {kill}: an answered one was sent again"
        );
        let lines = answered(folder.path());
        safe = lines.iter().cloned().collect::<HashSet<_>>();
        assert_eq!(safe.len(), lines.len(), "kill {kill}: a document was answered twice");
        assert!(safe.len() < DOCUMENTS, "all is done before kill {kill}: take more documents");
        endpoint.came.lock().unwrap().retain(|document, _| !safe.contains(document));
    }
    let (code, stderr) = end(run(folder.path(), &url, &["--max-in-flight", "64"])).await;
    assert_eq!(code, Some(0), "{stderr}");
    let all = answered(folder.path());
    assert_eq!(all.len(), DOCUMENTS);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), DOCUMENTS, "each exactly once");
    let again = endpoint.came();
    assert!(safe.iter().all(|document| !again.contains_key(document)), "an answered document was sent again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_lets_requests_end_and_a_later_one_goes_on() {
    let (folder, endpoint) = (TempDir::new().unwrap(), Endpoint::default());
    let url = endpoint.listen(Duration::from_millis(400)).await;
    write_documents(folder.path(), 40);
    for signal in ["INT", "TERM"] {
        let before = endpoint.came().len();
        let child = run(folder.path(), &url, &["--max-in-flight", "4"]);
        until(|| endpoint.came().len() >= before + 4).await;
        send(signal, &child);
        let (code, stderr) = end(child).await;
        assert_eq!(code, Some(3), "{stderr}");
        assert!(stderr.contains("have 30 s to end") && stderr.contains("run the same command again"), "{stderr}");
        assert_eq!(answered(folder.path()).len(), endpoint.came().len(), "what was on the wire came home");
    }
    assert_eq!(endpoint.came().len(), 8);
    let (code, _) = end(run(folder.path(), &url, &["--max-in-flight", "40"])).await;
    assert_eq!(code, Some(0));
    assert!(endpoint.came().values().all(|count| *count == 1), "nothing was paid for twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn grace_ends_and_a_second_signal_stops_at_once() {
    let (folder, endpoint) = (TempDir::new().unwrap(), Endpoint::default());
    let url = endpoint.listen(Duration::from_secs(60)).await;
    write_documents(folder.path(), 4);
    for arguments in [["--grace", "300ms"], ["--grace", "1h"]] {
        let before = endpoint.came().values().sum::<u32>();
        let child = run(folder.path(), &url, &arguments);
        until(|| endpoint.came().values().sum::<u32>() >= before + 4).await;
        send("INT", &child);
        if arguments[1] == "1h" {
            sleep(Duration::from_millis(300)).await;
            send("INT", &child);
        }
        let (code, stderr) = end(child).await;
        assert_eq!(code, Some(3), "{stderr}");
        assert!(stderr.contains("4 not sent") || stderr.contains("4 postponed"), "{stderr}");
    }
}

fn send(signal: &str, child: &Child) {
    let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_told_who_holds_the_file() {
    let (folder, endpoint) = (TempDir::new().unwrap(), Endpoint::default());
    let url = endpoint.listen(Duration::from_secs(60)).await;
    write_documents(folder.path(), 1);
    let mut first = run(folder.path(), &url, &[]);
    until(|| !endpoint.came().is_empty()).await;
    let (code, stderr) = end(run(folder.path(), &url, &[])).await;
    let pid = first.id();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(code, Some(2));
    assert!(stderr.contains(&format!("in use by another becalm process ({pid})")), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_the_batch_with_nothing_torn() {
    let folder = TempDir::new().unwrap();
    let endpoint = Endpoint { text_bytes: 50_000, ..Endpoint::default() };
    let url = endpoint.listen(Duration::from_millis(5)).await;
    write_documents(folder.path(), 200);
    // A limit on the size of files does what a full disk does, if its signal is ignored. It has to leave room for the
    // component's memory, which wasmtime keeps in a file.
    let limited = format!(
        "ulimit -f 8000; trap '' XFSZ; exec {} run in.jsonl --base-url {url} --model m -o out.jsonl --max-in-flight 2",
        env!("CARGO_BIN_EXE_becalm")
    );
    let mut command = Command::new("sh");
    command.current_dir(folder.path()).env_remove("OPENAI_BASE_URL").args(["-c", &limited]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (code, stderr) = end(child).await;
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("cannot write the results") && stderr.contains("run the same command again"), "{stderr}");
    let text = fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert!(text.ends_with('\n') && text.len() > 1_000_000, "{} bytes", text.len());
    let safe = answered(folder.path());
    // What came home at that moment could not be written, and two may have been on the wire.
    assert!(endpoint.came().len() <= safe.len() + 5, "{} sent, {} safe", endpoint.came().len(), safe.len());
    assert_eq!(end(run(folder.path(), &url, &["--max-in-flight", "20"])).await.0, Some(0));
    assert_eq!(answered(folder.path()).len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_changed_is_told_and_sent_again_by_force() {
    let (folder, endpoint) = (TempDir::new().unwrap(), Endpoint::default());
    let url = endpoint.listen(Duration::ZERO).await;
    let write = |text: &str| {
        fs::write(folder.path().join("in.jsonl"), format!("{{\"id\": \"a\", \"text\": \"{text}\"}}\n")).unwrap();
    };
    write("document 1");
    assert_eq!(end(run(folder.path(), &url, &[])).await.0, Some(0));
    write("document 2");
    let (code, stderr) = end(run(folder.path(), &url, &[])).await;
    assert_eq!(code, Some(0));
    assert!(stderr.contains("1 answered documents have changed since"), "{stderr}");
    assert!(stderr.contains("such as a: not sent again"), "{stderr}");
    assert!(!endpoint.came().contains_key("2"));
    assert_eq!(end(run(folder.path(), &url, &["--force"])).await.0, Some(0));
    assert_eq!(end(run(folder.path(), &url, &["--force"])).await.0, Some(0));
    assert_eq!(endpoint.came()["2"], 1, "it is known by its new content now");
    let (code, stderr) = end(run(folder.path(), &url, &["--prompt", "And this? {text}"])).await;
    assert_eq!(code, Some(0));
    assert!(stderr.contains("or something else is asked of them, such as a: not sent again"), "{stderr}");
    assert_eq!(endpoint.came()["2"], 1);
}

const KILLS: u32 = 100;
const DOCUMENTS: usize = 6_000;
