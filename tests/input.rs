//! What people have in their files, from the file to the wire and into the results: real processes and real sockets.

#[path = "support/wire.rs"]
mod wire;

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;
use wire::{Said, Wire, completion};

/// The bodies that were sent, as JSON, sorted.
fn sent(endpoint: &Wire) -> Vec<Value> {
    let bodies = endpoint.bodies.lock().unwrap();
    let mut sent = bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect::<Vec<Value>>();
    sent.sort_by_key(Value::to_string);
    sent
}

/// The last message of each.
fn contents(endpoint: &Wire) -> Vec<String> {
    let content = |body: Value| body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    sent(endpoint).into_iter().map(|body| content(body).as_str().unwrap().to_string()).collect()
}

struct Ended {
    code: i32,
    stderr: String,
    /// By id.
    lines: Vec<(String, Value)>,
}

impl Ended {
    fn line(&self, id: &str) -> &Value {
        self.lines
            .iter()
            .find(|(known, _)| known == id)
            .map(|(_, line)| line)
            .unwrap_or_else(|| panic!("no {id}: {}", self.stderr))
    }
}

async fn run(folder: &Path, endpoint: &Wire, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.current_dir(folder).env_clear().env("LC_ALL", "C").arg("run").args(arguments);
    command.args(["-o", "out.jsonl", "--base-url", &endpoint.url, "--prompt", "{text}", "--model", "m"]);
    let Output { status, stderr, .. } = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let results = fs::read_to_string(folder.join("out.jsonl")).unwrap_or_default();
    let lines = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.map(|line| (line["custom_id"].as_str().unwrap().to_string(), line)).collect();
    Ended { code: status.code().unwrap(), stderr: String::from_utf8(stderr).unwrap(), lines }
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn request(id: &str, content: &str) -> String {
    format!(r#"{{"custom_id":"{id}","body":{{"model":"m","messages":[{{"role":"user","content":"{content}"}}]}}}}"#)
}

/// Aider-AI/aider#3693: half a surrogate pair, as a text that was cut in the middle of an emoji has it.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_surrogate_pair_is_replaced_and_a_whole_one_is_kept() {
    let endpoint = Wire::completing("ok").await;
    let lines = [request("a", r"bad \ud83c end"), request("b", r"good \ud83c\udf89 end")].join("\n");
    let text = format!("{lines}\n{}", r#"{"id":"c","text":"\udf89 also"}"#);
    let folder = folder(&[("in.jsonl", text.as_bytes())]);
    let ended = run(folder.path(), &endpoint, &["in.jsonl"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let mut contents = contents(&endpoint);
    contents.sort();
    assert_eq!(contents, ["bad \u{fffd} end", "good 🎉 end", "\u{fffd} also"]);
    assert!(ended.stderr.contains("2 documents have half a surrogate pair"), "{}", ended.stderr);
    assert!(ended.stderr.contains("in.jsonl, line 1"), "{}", ended.stderr);
}

/// openai/openai-cookbook#648, wbolster/jsonlines#68, awslabs/gluonts#920: marks, line ends and signs of all kinds, in a
/// locale that knows nothing of them.
#[tokio::test(flavor = "multi_thread")]
async fn every_sign_comes_through_both_ways() {
    let endpoint = Wire::completing("\u{2764}\u{fe0f} “ok”\u{2028}").await;
    let signs = "\u{2764} “q” x\u{2028}y\u{85}z\\u0000\u{feff}";
    let lines = format!("\u{feff}{}\r\n\r\n{}", request("a", signs), request("ü\u{2028}", "plain"));
    let folder = folder(&[("in.jsonl", lines.as_bytes())]);
    let ended = run(folder.path(), &endpoint, &["in.jsonl"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(contents(&endpoint), ["plain", "\u{2764} “q” x\u{2028}y\u{85}z\0\u{feff}"]);
    assert_eq!(ended.lines.len(), 2);
    let answer = &ended.line("ü\u{2028}")["response"]["body"]["choices"][0]["message"]["content"];
    assert_eq!(answer, "\u{2764}\u{fe0f} “ok”\u{2028}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_fails_by_itself_and_the_rest_goes_on() {
    let endpoint = Wire::completing("ok").await;
    let folder = folder(&[
        ("in.jsonl", b"{\"id\":\"a\",\"text\":\"good\"}\n{\"id\":\"b\",\"text\":\"caf\xe9\"}\n{\"id\":\"c\"\n"),
        ("docs/latin1.txt", b"caf\xe9"),
        ("docs/empty.md", b"\n"),
        ("docs/good.md", "gut ü".as_bytes()),
    ]);
    let ended = run(folder.path(), &endpoint, &["in.jsonl", "docs"]).await;
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert_eq!(contents(&endpoint), ["good", "gut ü"]);
    assert_eq!(ended.lines.len(), 6);
    for (id, message) in [
        ("b", "in.jsonl, line 2: it is not UTF-8"),
        ("in.jsonl:3", "in.jsonl, line 3: EOF while parsing an object at column 9"),
        ("docs/latin1.txt", "docs/latin1.txt: it is not UTF-8; nothing was sent"),
        ("docs/empty.md", "docs/empty.md: the document is empty; nothing was sent"),
    ] {
        let line = ended.line(id);
        assert_eq!((&line["error"]["code"], &line["error"]["message"]), (&json!("invalid-document"), &json!(message)));
        assert_eq!(line["becalm"]["attempts"], 0);
    }
    assert!(
        ended.stderr.contains("4 documents cannot be used and fail, the first: in.jsonl, line 2"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("2 answered, 4 failed"), "{}", ended.stderr);

    // Mended, they go; nothing else is sent again.
    fs::write(folder.path().join("docs/latin1.txt"), "café").unwrap();
    let ended = run(folder.path(), &endpoint, &["in.jsonl", "docs"]).await;
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert_eq!(contents(&endpoint), ["café", "good", "gut ü"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_patterns_are_read() {
    let endpoint = Wire::completing("ok").await;
    let folder = folder(&[
        ("t.csv", "Nr;x,Nr,Body\n1,a,\"one, \"\"two\"\"\n2\"\n2,b,three\n".as_bytes()),
        ("t.tsv", "Nr\tBody\nc\tfour\n".as_bytes()),
        ("p/1.md", b"five"),
        ("p/q/2.md", b"six"),
        ("p/q/3.txt", b"not this"),
    ]);
    let columns = ["--id-column", "Nr", "--text-column", "Body"];
    let ended = run(folder.path(), &endpoint, &[&["t.csv", "t.tsv", "p/**/*.md"][..], &columns].concat()).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let mut contents = contents(&endpoint);
    contents.sort();
    assert_eq!(contents, ["five", "four", "one, \"two\"\n2", "six", "three"]);
    let mut ids = ended.lines.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>();
    ids.sort_unstable();
    assert_eq!(ids, ["a", "b", "c", "p/1.md", "p/q/2.md"]);
    let ended = run(folder.path(), &endpoint, &["t.tsv"]).await;
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("t.tsv has no column \"id\"; there are: Nr, Body"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: name the columns with --id-column"), "{}", ended.stderr);
}

/// can1357/oh-my-pi#1251: a row of 20 MB.
#[tokio::test(flavor = "multi_thread")]
async fn a_very_large_row_is_warned_of_and_its_refusal_stays_short() {
    let endpoint = Wire::answering(413, "<html>413</html>").await;
    let row = format!("{{\"id\":\"large\",\"text\":\"{}\"}}\n", "x".repeat(20_000_000));
    let folder = folder(&[("in.jsonl", row.as_bytes())]);
    let ended = run(folder.path(), &endpoint, &["in.jsonl"]).await;
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert_eq!(endpoint.bodies.lock().unwrap().len(), 1, "it is not tried again");
    assert!(ended.stderr.contains("in.jsonl, line 1, 20.0 MB, some 5.0 million tokens"), "{}", ended.stderr);
    assert!(ended.stderr.len() < 2_000, "{} bytes of messages", ended.stderr.len());
    assert_eq!(ended.line("large")["error"]["code"], "too-large");
}

/// Many of them do not fit into the sandbox together.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_very_large_rows_fits_into_the_sandbox() {
    let endpoint = Wire::completing("ok").await;
    let folder = folder(&[]);
    let first = folder.path().join("0.txt");
    fs::write(&first, "x".repeat(20_000_000)).unwrap();
    (1..60).for_each(|n| fs::hard_link(&first, folder.path().join(format!("{n}.txt"))).unwrap());
    let ended = run(folder.path(), &endpoint, &["*.txt"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(endpoint.bodies.lock().unwrap().len(), 60);
}

/// An error that concerns every document costs nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_one_usable_document_is_refused() {
    let endpoint = Wire::completing("ok").await;
    let folder = folder(&[("in.jsonl", b"id,text\na,b\n")]);
    let ended = run(folder.path(), &endpoint, &["in.jsonl"]).await;
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("no document can be used: in.jsonl, line 1"), "{}", ended.stderr);
    assert!(ended.lines.is_empty() && sent(&endpoint).is_empty());
}

/// `run .` again and again: what becalm writes is no document.
#[tokio::test(flavor = "multi_thread")]
async fn results_in_the_folder_are_no_documents() {
    let endpoint = Wire::completing("ok").await;
    let folder = folder(&[("a.txt", b"one"), ("becalm.toml", b"max-in-flight = 3\n")]);
    for _ in 0..2 {
        let ended = run(folder.path(), &endpoint, &[".", "--events", "events.jsonl"]).await;
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
    assert_eq!(contents(&endpoint), ["one"]);
    let ended = run(folder.path(), &endpoint, &["a.txt", "--events", "out.jsonl"]).await;
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("results and events cannot go into one file"), "{}", ended.stderr);
}

/// A file that somebody still writes to.
#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_grows_while_it_is_read_does_no_harm() {
    let folder = folder(&[("in.jsonl", b"{\"id\":1,\"text\":\"one\"}\n")]);
    let input = folder.path().join("in.jsonl");
    let endpoint = Wire::saying(move |number| {
        if number == 0 {
            let mut file = fs::OpenOptions::new().append(true).open(&input).unwrap();
            std::io::Write::write_all(&mut file, b"{\"id\":2,\"text\":\"two\"}\n").unwrap();
        }
        Said { status: 200, headers: String::new(), body: completion("ok") }
    })
    .await;
    let ended = run(folder.path(), &endpoint, &["in.jsonl"]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stderr.contains("not sent"), "{}", ended.stderr);
}
