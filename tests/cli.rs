//! The command line, as a person meets it: real processes, real sockets, real files.

#[path = "support/process.rs"]
mod process;
#[path = "support/wire.rs"]
mod wire;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use becalm::server::{Listening, Model, Server, Spread};
use process::{Ended, becalm};
use serde_json::Value;
use tempfile::TempDir;
use wire::{Said, Wire, completion};

/// A folder to work in, and a server that allows 10 requests per second.
struct Desk {
    folder: TempDir,
    server: Arc<Server>,
    listening: Listening,
}

impl Desk {
    async fn new() -> Self {
        let model = Model {
            window: Duration::from_secs(1),
            latency: Spread::exactly(Duration::from_millis(10)),
            ..Model::default()
        };
        let server = Arc::new(Server::new(model));
        let listening = Listening::on_port(0, Arc::clone(&server)).await.unwrap();
        Self { folder: TempDir::new().unwrap(), server, listening }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path().join(name).parent().unwrap()).unwrap();
        fs::write(self.path().join(name), text).unwrap();
    }

    /// `becalm run` with these arguments, in the folder, for the server.
    async fn run(&self, arguments: &[&str]) -> Ended {
        let url = self.listening.base_url();
        let common = ["run", "--base-url", &url, "--model", "m", "-o", "out.jsonl"];
        becalm(self.path(), &[&common, arguments].concat(), "").await
    }

    /// The lines of the output file.
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path().join("out.jsonl")).unwrap_or_default();
        assert!(text.is_empty() || text.ends_with('\n'), "a line is half-written");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_document_of_a_folder_comes_home() {
    let desk = Desk::new().await;
    for n in 0..25 {
        desk.write(&format!("docs/{n}.txt"), format!("Text {n}."));
    }
    desk.write("docs/.hidden", "not this");
    let ended = desk.run(&["docs", "--limit", "10/1s"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let lines = desk.lines();
    let mut ids = lines.iter().map(|line| line["custom_id"].as_str().unwrap()).collect::<Vec<_>>();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 25);
    assert!(lines.iter().all(|line| line["response"]["status_code"] == 200 && line["error"].is_null()));
    assert!(lines.iter().all(|line| line["becalm"]["attempts"].as_u64() >= Some(1)));
    assert!(ended.stderr.contains("documents 25 answered, 0 failed, 0 postponed"), "{}", ended.stderr);
    assert_eq!(desk.server.stats().answered, 25);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_limit_is_learnt_and_named() {
    let desk = Desk::new().await;
    let lines = (0..15).map(|n| format!("{{\"id\": {n}, \"text\": \"Text {n}.\"}}\n")).collect::<String>();
    desk.write("in.jsonl", lines);
    let ended = desk.run(&["in.jsonl", "--jitter", "100ms", "--json"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(desk.lines().len(), 15);
    let summary = serde_json::from_str::<Value>(ended.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(summary["answered"], 15);
    assert_eq!(summary["refusals"], desk.server.stats().refused);
    assert_eq!(summary["limits"][0]["source"], "refusals");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_sends_only_what_is_missing() {
    let desk = Desk::new().await;
    desk.write("a.txt", "one");
    desk.write("b.txt", "two");
    assert_eq!(desk.run(&["a.txt"]).await.code, 0);
    let torn = fs::OpenOptions::new().append(true).open(desk.path().join("out.jsonl"));
    torn.unwrap().write_all(b"{\"custom_id\":\"b.txt\",\"respon").unwrap();
    let ended = desk.run(&["a.txt", "b.txt"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("torn"), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 answered before"), "{}", ended.stderr);
    assert_eq!(desk.server.stats().received, 2);
    assert_eq!(desk.lines().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_requests_come_from_standard_input_and_go_to_standard_output() {
    let desk = Desk::new().await;
    let line = r#"{"custom_id":"r","method":"POST","url":"/v1/chat/completions","body":{"model":"own","messages":[]}}"#;
    let url = desk.listening.base_url();
    let ended = becalm(desk.path(), &["run", "-", "--base-url", &url], line).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let answer = serde_json::from_str::<Value>(&ended.stdout).unwrap();
    assert_eq!(answer["custom_id"], "r");
    assert_eq!(answer["response"]["body"]["model"], "own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_named_before_anything_is_sent_or_written() {
    let desk = Desk::new().await;
    desk.write("a.txt", "one");
    fs::create_dir(desk.path().join("empty")).unwrap();
    desk.write("twice.jsonl", "{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"a\",\"text\":\"y\"}\n");
    for (arguments, message) in [
        (&["missing.txt"][..], "cannot read missing.txt"),
        (&["empty"], "no documents in empty"),
        (&["twice.jsonl"], "the id \"a\" occurs twice: in twice.jsonl, line 1 and in twice.jsonl, line 2"),
        (&["a.txt", "a.txt"], "the id \"a.txt\" occurs twice"),
        (&["a.txt", "--frobnicate"], "unexpected argument '--frobnicate'"),
        (&["a.txt", "--limit", "10"], "such as 10/60s"),
        (&["a.txt", "--jitter", "soon"], "such as 500ms, 2s or 1h"),
        (&["a.txt", "--prompt", "no place"], "chat.prompt-template: {text} does not occur"),
        (&["a.txt", "--max-in-flight", "0"], "limits.max-in-flight: 0 is out of range: 1 to 10000"),
        (&["a.txt", "--max-attempts", "0"], "retry.max-attempts: 0 is out of range"),
    ] {
        let ended = desk.run(arguments).await;
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{arguments:?}: {}", ended.stderr);
        assert!(!desk.path().join("out.jsonl").exists(), "{arguments:?}");
    }
    assert_eq!(desk.server.stats().received, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_named_with_a_hint() {
    let desk = Desk::new().await;
    desk.write("a.txt", "one");
    let url = desk.listening.base_url();
    let ended = becalm(desk.path(), &["run", "a.txt", "--base-url", &url], "").await;
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("no model is named") && ended.stderr.contains("hint: "), "{}", ended.stderr);
    let ended = becalm(desk.path(), &["run", "a.txt", "--model", "m"], "").await;
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("--base-url"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_refuses_connections_stops_the_batch() {
    let desk = Desk::new().await;
    desk.write("a.txt", "one");
    desk.write("b.txt", "two");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let arguments = ["run", "a.txt", "b.txt", "--base-url", &format!("http://{free}/v1"), "--model", "m"];
    let ended = becalm(desk.path(), &[&arguments[..], &["--max-attempts", "2", "-o", "out.jsonl"]].concat(), "").await;
    assert_eq!(ended.code, 4, "{}", ended.stderr);
    assert!(ended.stderr.contains("the connection was refused"), "{}", ended.stderr);
    assert_eq!(desk.lines().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_something_else_is_never_appended_to() {
    let desk = Desk::new().await;
    desk.write("a.txt", "one");
    desk.write("out.jsonl", "my thesis\n");
    let ended = desk.run(&["a.txt"]).await;
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("line 1: this is no line of results"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(desk.path().join("out.jsonl")).unwrap(), "my thesis\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_component_is_written_out_whole() {
    let desk = Desk::new().await;
    let ended = becalm(desk.path(), &["component", "-o", "c.wasm"], "").await;
    assert_eq!(ended.code, 0);
    assert!(ended.stdout.contains("wasi:http/outgoing-handler@0.2.4"));
    assert_eq!(fs::read(desk.path().join("c.wasm")).unwrap(), becalm::COMPONENT);
}

#[tokio::test(flavor = "multi_thread")]
async fn completions_and_the_manual_know_every_command() {
    let desk = Desk::new().await;
    for arguments in [&["completions", "bash"][..], &["completions", "zsh"], &["man"]] {
        let ended = becalm(desk.path(), arguments, "").await;
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        for known in ["run", "probe", "mock", "component", "grace"] {
            assert!(ended.stdout.contains(known), "{arguments:?} does not know {known}");
        }
    }
}

/// As a user meets it: flags and environment of the command line.
#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_taken_from_the_environment_and_left_out_where_that_is_said() {
    let proxy = Wire::answering(200, &completion("through the proxy")).await;
    let address = proxy.url.strip_suffix("/v1").unwrap().to_string();
    let run = |exempt: &'static str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
        command.args(["probe", "--base-url", "http://model.invalid/v1", "--model", "m"]);
        command.env_clear().env("HTTP_PROXY", &address).env("http_proxy", &address).env("NO_PROXY", exempt);
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let through = run("").await.unwrap();
    assert_eq!(through.status.code(), Some(0), "{through:?}");
    assert_eq!(proxy.bodies.lock().unwrap().len(), 1);
    let past = run("model.invalid").await.unwrap();
    assert_eq!(past.status.code(), Some(4), "{past:?}");
    assert_eq!(proxy.bodies.lock().unwrap().len(), 1);
}

/// Half, empty and declined answers are paid for and stay; who wants them again says so.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_fall_short_are_counted_and_asked_for_again_only_if_that_is_said() {
    let choice = |content: Value, reason: &str| {
        let message = serde_json::json!({"role": "assistant", "content": content});
        serde_json::json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).to_string()
    };
    let bodies = [
        choice("half".into(), "length"),
        choice(Value::Null, "tool_calls"),
        choice("no".into(), "content_filter"),
        choice("whole".into(), "stop"),
    ];
    let wire = Wire::saying(move |n| {
        let body = bodies.get(n).cloned().unwrap_or_else(|| completion("whole"));
        // A call of a tool is an answer only if there is one.
        let body = body
            .replace("\"content\":null", "\"content\":null,\"reasoning_content\":\"hm\"")
            .replace("tool_calls", "stop");
        Said { status: 200, headers: String::new(), body }
    })
    .await;
    let folder = TempDir::new().unwrap();
    let lines = (0..4).map(|n| format!("{{\"id\":\"{n}\",\"text\":\"Text {n}.\"}}\n")).collect::<String>();
    fs::write(folder.path().join("in.jsonl"), lines).unwrap();
    let run = async |more: &[&str]| {
        let common =
            ["run", "in.jsonl", "--base-url", &wire.url, "--model", "m", "-o", "out.jsonl", "--max-in-flight", "1"];
        becalm(folder.path(), &[&common[..], more].concat(), "").await
    };
    let first = run(&[]).await;
    assert_eq!(first.code, 0, "{}", first.stderr);
    let said = "answers   1 cut off at max_tokens, 1 without text, 1 refused by the model; --again cut-off,empty,refused-by-model";
    assert!(first.stderr.contains(said), "{}", first.stderr);
    let sent = || wire.bodies.lock().unwrap().len();
    run(&[]).await;
    assert_eq!(sent(), 4, "nothing goes again by itself");
    run(&["--again", "cut-off"]).await;
    assert_eq!(sent(), 5);
    let third = run(&["--again", "empty,refused-by-model"]).await;
    assert_eq!(sent(), 7);
    assert!(!third.stderr.contains("--again"), "{}", third.stderr);
    run(&["--again", "cut-off,empty,refused-by-model,failed"]).await;
    assert_eq!(sent(), 7, "all are whole now");
    let longer = run(&["--max-tokens", "9"]).await;
    assert!(longer.stderr.contains("4 answered documents have changed since"), "{}", longer.stderr);
}

/// Whatever endpoint and model want: members, headers, another key in another header, a query.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_and_how_can_be_set() {
    let wire = Wire::completing("ok").await;
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.txt", "Text.");
    write("ask.txt", "Say more: {text}");
    write("more.json", r#"{"seed": 1, "response_format": {"type": "json_object"}}"#);
    let base_url = format!("{}/deployments/d/?api-version=2026-01-01", wire.url);
    let arguments = "run a.txt --model m --temperature 0.5 --max-completion-tokens 9 --set seed=7 --set reasoning.effort=low \
                     --body more.json --no-system --prompt-file ask.txt --key-env OTHER_KEY --key-header api-key -o out.jsonl";
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.current_dir(folder.path()).args(arguments.split_ascii_whitespace()).args(["--base-url", &base_url]);
    command
        .args(["--header", "x-title: my batch"])
        .env("OTHER_KEY", "k3y-of-another-name")
        .env_remove("OPENAI_API_KEY");
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("with the key of OTHER_KEY"), "{said}");
    let body = serde_json::from_slice::<Value>(&wire.bodies.lock().unwrap()[0]).unwrap();
    let expected = serde_json::json!({
        "model": "m",
        "messages": [{"role": "user", "content": "Say more: Text."}],
        "temperature": 0.5,
        "seed": 7,
        "response_format": {"type": "json_object"},
        "max_completion_tokens": 9,
        "reasoning": {"effort": "low"},
    });
    assert_eq!(body, expected);
    let head = wire.head.lock().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("post /v1/deployments/d/chat/completions?api-version=2026-01-01 "), "{head}");
    assert!(
        head.contains("\r\napi-key: k3y-of-another-name\r\n") && head.contains("\r\nx-title: my batch\r\n"),
        "{head}"
    );
    assert!(!head.contains("authorization"), "{head}");

    for (more, message) in [
        (["--key-env", "NO_SUCH_KEY"], "there is no key in NO_SUCH_KEY"),
        (["--set", "stream=true"], "cannot come as streams"),
        (["--set", "seed"], "a member is needed, such as seed=7"),
        (["--max-tokens", "few"], "a number is needed, or none"),
        (["--key-header", "no header"], "cannot be sent in a header"),
        (["--base-url", "https://me:secret-word@host/v1"], "has a name and password in it"),
    ] {
        let common = ["run", "a.txt", "--model", "m", "--base-url", &wire.url];
        let common = if more[0] == "--base-url" { &common[..4] } else { &common[..] };
        let ended = becalm(folder.path(), &[common, &more[..]].concat(), "").await;
        assert_eq!(ended.code, 2, "{more:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(message) && !ended.stderr.contains("secret-word"), "{more:?}: {}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_wants_credentials_is_told_as_that() {
    let proxy = Wire::answering(407, "").await;
    let address = proxy.url.strip_suffix("/v1").unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.args(["probe", "--base-url", "https://model.invalid/v1", "--model", "m"]);
    command.env_clear().env("HTTPS_PROXY", &address).env("https_proxy", &address);
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(said.contains("the proxy wants credentials"), "{ended:?}");
}

/// Whatever is said, in all modes, to an endpoint that repeats the key wherever it can: nothing that is printed or written
/// has it.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_in_nothing_that_is_printed_or_written() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("in.jsonl"), "{\"id\":\"a\",\"text\":\"t\"}\n{\"id\":\"b\",\"text\":\"t\"}\n")
        .unwrap();
    let run = ["run", "in.jsonl", "--model", "m", "--jitter", "0", "-o"];
    let files = ["-vv", "--events", "events.jsonl"];
    for arguments in [
        [&run[..], &["1.jsonl"], &files].concat(),
        [&run[..], &["2.jsonl", "--json"]].concat(),
        [&run[..], &["3.jsonl", "-q"]].concat(),
        vec!["probe", "--model", "m"],
        vec!["probe", "--model", "m", "--json"],
        vec!["report", "1.jsonl", "--events", "events.jsonl"],
        vec!["plan", "in.jsonl", "--model", "m"],
    ] {
        let endpoint = Wire::saying(|number| {
            let error = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\"}}}}");
            let (status, body) = [(429, error.clone()), (500, error.clone()), (200, completion(KEY)), (401, error)]
                [number.min(3)]
            .clone();
            Said { status, headers: format!("retry-after: 1\r\nx-echo: Bearer {KEY}\r\n"), body }
        })
        .await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
        command
            .current_dir(folder.path())
            .args(&arguments)
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", &endpoint.url);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(!said.is_empty() || arguments.contains(&"-q"), "{arguments:?}");
        assert!(!String::from_utf8_lossy(&said).contains(KEY), "{arguments:?}");
    }
    let mut written = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let content = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!content.contains(KEY), "{content}");
        written += content.matches("Incorrect API key provided: ***").count();
    }
    assert!(written > 0, "the endpoint's message is kept, without the key");
}

const KEY: &str = "sk-7c1f0e5a-this-must-stay-outside-93b2d846";
