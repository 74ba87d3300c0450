//! `becalm probe`: one request, and what its answer means.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use becalm::server::{Listening, Model, Server, Spread};
use serde_json::{Value, json};

async fn probe(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.args(["probe", "--base-url", url, "--model", "m"]).args(arguments);
    command.env_remove("OPENAI_BASE_URL").env("OPENAI_API_KEY", "sk-very-secret");
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    assert!(!String::from_utf8(said).unwrap().contains("very-secret"), "the key was printed");
    output
}

async fn found(url: &str) -> (Option<i32>, Value) {
    let output = probe(url, &["--json"]).await;
    let mut found = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    found.as_object_mut().unwrap().remove("taken_ms");
    (output.status.code(), found)
}

async fn server(model: Model) -> (Arc<Server>, Listening) {
    let server = Arc::new(Server::new(Model { latency: Spread::exactly(Duration::ZERO), ..model }));
    let listening = Listening::on_port(0, Arc::clone(&server)).await.unwrap();
    (server, listening)
}

/// Answers every request with this, and counts them.
fn canned(answer: &'static str) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut bytes = [0; 4_096];
            let _ = stream.read(&mut bytes);
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, count)
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_are_stated_are_said_as_flags() {
    let (server, listening) = server(Model { limit_headers: true, tokens: Some(4_000), ..Model::default() }).await;
    let (code, found) = found(&listening.base_url()).await;
    assert_eq!(code, Some(0));
    assert_eq!(
        (&found["status"], &found["verdict"], &found["wait_ms"]),
        (&json!(200), &json!("answered"), &Value::Null)
    );
    assert_eq!(
        found["limits"],
        json!([
            {"unit": "requests", "amount": 10, "window_ms": 60_000},
            {"unit": "tokens", "amount": 4_000, "window_ms": 60_000},
        ])
    );
    let text = String::from_utf8(probe(&listening.base_url(), &[]).await.stdout).unwrap();
    assert!(text.contains("not clear from the headers, which count other requests of this key too"), "{text}");
    assert!(text.contains("  x-ratelimit-remaining-requests: 8"), "{text}");
    assert_eq!(server.stats().received, 2, "one request each");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_reads_the_flag_to_set() {
    let (_, listening) = server(Model { limit_headers: true, ..Model::default() }).await;
    let text = String::from_utf8(probe(&listening.base_url(), &[]).await.stdout).unwrap();
    assert!(text.contains("limit    10 requests per 1 min 00 s, stated by the endpoint: --limit 10/60s"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_its_hint_and_is_not_sent_again() {
    let (server, listening) = server(Model { requests: 1, limit_headers: true, ..Model::default() }).await;
    found(&listening.base_url()).await;
    let (code, found) = found(&listening.base_url()).await;
    assert_eq!(code, Some(0));
    assert_eq!((&found["status"], &found["verdict"]), (&json!(429), &json!("refused")));
    assert_eq!(found["source"], "retry-after");
    assert_eq!(found["limits"], json!([]), "what others used hides the window");
    let wait = found["wait_ms"].as_u64().unwrap();
    assert!((55_000..=60_000).contains(&wait) && wait % 1_000 == 0, "{wait}: as it was meant, without jitter");
    assert_eq!(server.stats().received, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_go_better_next_time_is_told_from_what_will_not() {
    for (answer, status, verdict, says) in [
        ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 503, "retry", "HTTP 503"),
        ("HTTP/1.1 429 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 429, "refused", "does not admit"),
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 401, "final", "OPENAI_API_KEY"),
        ("HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 404, "final", "there is nothing at"),
    ] {
        let (url, count) = canned(answer);
        let (code, found) = found(&url).await;
        assert_eq!(code, Some(0));
        assert_eq!((&found["status"], &found["verdict"]), (&json!(status), &json!(verdict)), "{found}");
        assert_eq!((&found["wait_ms"], &found["source"]), (&Value::Null, &Value::Null), "{found}");
        assert!(found["message"].as_str().unwrap().contains(says), "{found}");
        assert_eq!(count.load(Ordering::Relaxed), 1, "{status}: one request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hint_of_a_fault_is_shown_too() {
    let (url, count) = canned("HTTP/1.1 500 No\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let (code, found) = found(&url).await;
    assert_eq!((code, &found["verdict"]), (Some(0), &json!("retry")), "{found}");
    assert_eq!((&found["wait_ms"], &found["source"]), (&json!(7_000), &json!("retry-after")), "{found}");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_told() {
    let (code, found) = found("http://127.0.0.1:1/v1").await;
    assert_eq!(code, Some(4));
    assert_eq!((&found["status"], &found["verdict"]), (&Value::Null, &json!("retry")));
    assert!(found["message"].as_str().unwrap().contains("connection was refused"), "{found}");
}
