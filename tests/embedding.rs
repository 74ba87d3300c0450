//! becalm as a part of other programs: the examples, run as they are, and what an embedder may rely on.

#[path = "support/listening.rs"]
mod listening;

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use becalm::wasmtime::Engine;
use becalm::{Access, COMPONENT, CONTRACT, Document, Happening, Pool, Route, Sandbox, Session, Settings, Verdict};
use futures_util::{StreamExt, stream};
use listening::listening;
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};
use wit_component::WitPrinter;
use wit_parser::{InterfaceId, Resolve};

fn example(name: &str) -> PathBuf {
    // This program is one folder further down.
    let programs = env::current_exe().unwrap().parent().unwrap().with_file_name("examples");
    programs.join(name)
}

/// What an example prints with this on standard input; it has to end well.
async fn printed(name: &str, base_url: &str, input: &str) -> String {
    let mut command = Command::new(example(name));
    command.arg(base_url).stdin(Stdio::piped()).stdout(Stdio::piped());
    let input = input.to_string();
    let ended = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    let ended = ended.await.unwrap();
    assert!(ended.status.success(), "{name}: {}", ended.status);
    String::from_utf8(ended.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_bring_all_documents_home() {
    for name in ["smallest", "streaming"] {
        let (listening, server) = listening().await;
        let printed = printed(name, &listening.base_url(), &"Some text.\n".repeat(20)).await;
        let mut lines = printed.lines().map(String::from).collect::<Vec<_>>();
        lines.sort_by_key(|line| line.split_once(':').unwrap().0.parse::<u32>().unwrap());
        assert_eq!(lines, (1..=20).map(|n| format!("{n}: Analysed 175 bytes.")).collect::<Vec<_>>(), "{name}");
        assert_eq!(server.stats().answered, 20, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_client_carries_the_requests() {
    let printed = printed("own_client", "", "").await;
    assert!(printed.contains("20: Analyze this document:\n\nText 20.\n"), "{printed}");
    assert!(printed.ends_with("refused: 1\n"), "{printed}");
}

struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_service_answers_in_the_order_of_the_texts() {
    let (listening, server) = listening().await;
    let mut command = Command::new(example("web_service"));
    let mut service = Service(command.arg(listening.base_url()).stdout(Stdio::piped()).spawn().unwrap());
    let mut url = String::new();
    BufReader::new(service.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let request = || {
        let texts = serde_json::to_string(&["Some text."; 20]).unwrap();
        let request = reqwest::Client::new().post(url.trim()).header("content-type", "application/json");
        request.body(texts).send()
    };
    let answer = request().await.unwrap().text().await.unwrap();
    let answers = serde_json::from_str::<Vec<String>>(&answer).unwrap();
    assert_eq!(answers, ["Analysed 175 bytes."; 20]);
    assert_eq!(server.stats().answered, 20);

    // A caller that goes away takes its documents along.
    assert!(timeout(Duration::from_millis(100), request()).await.is_err());
    sleep(Duration::from_millis(200)).await;
    let sent = server.stats().sent;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(server.stats().sent, sent, "it goes on without its caller");
}

async fn session(sandbox: &Sandbox, base_url: &str) -> Session {
    let mut settings = Settings::default();
    settings.endpoint.base_url = base_url.into();
    settings.chat.model = "m".into();
    let access = Access::new(base_url, None).unwrap();
    let sender = Pool::new(&settings.timeouts, &Route::default()).unwrap();
    sandbox.open(settings, access, sender).await.unwrap()
}

fn documents(count: usize) -> impl Iterator<Item = Document> + Send {
    (0..count).map(|n| Document::text(n.to_string(), "Some text."))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_events_can_go_to_another_thread() {
    let (listening, _) = listening().await;
    let session = session(&Sandbox::new().unwrap(), &listening.base_url()).await;
    let events = session.analyze(stream::iter(documents(20)));
    let outcomes = events.filter(|event| {
        let is_outcome = matches!(&event.as_ref().unwrap().what, Happening::Outcome(outcome) if matches!(outcome.verdict, Verdict::Answered(_)));
        async move { is_outcome }
    });
    assert_eq!(tokio::spawn(outcomes.count()).await.unwrap(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_dropped_sends_nothing_more_and_hangs_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut session = session(&Sandbox::new().unwrap(), &base_url).await;
    session.submit(documents(100).collect()).await.unwrap();
    session.next(Duration::from_millis(200)).await.unwrap();
    let (mut connection, _) = listener.accept().await.unwrap();
    drop(session);
    let mut request = vec![];
    timeout(Duration::from_secs(5), connection.read_to_end(&mut request)).await.expect("it hangs up").unwrap();
    assert_eq!(request.windows(4).filter(|part| part == b"POST").count(), 1);
    while let Ok(Ok((mut connection, _))) = timeout(Duration::from_millis(500), listener.accept()).await {
        // Those that were on the wire already.
        timeout(Duration::from_secs(5), connection.read_to_end(&mut request)).await.expect("it hangs up").unwrap();
    }
    assert!(request.windows(4).filter(|part| part == b"POST").count() <= 8, "more than were in flight");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_brings_an_engine_and_imports_of_its_own() {
    let (listening, _) = listening().await;
    let engine = Engine::default();
    let sandbox = Sandbox::with_engine(&engine, COMPONENT, |linker| {
        linker.instance("embedder:own/clock")?.func_wrap("tea-time", |_, (): ()| Ok((true,)))
    });
    let mut session = session(&sandbox.unwrap(), &listening.base_url()).await;
    session.submit(documents(1).collect()).await.unwrap();
    let events = session.next(Duration::from_secs(10)).await.unwrap();
    assert!(matches!(&events[..], [event] if matches!(event.what, Happening::Outcome(_))), "{events:?}");
}

/// The items of an interface, without docs and versions, which a component does not carry.
fn items(resolve: &Resolve, interface: InterfaceId) -> Vec<String> {
    let mut printer = WitPrinter::default();
    printer.emit_docs(false).print_interface(resolve, interface).unwrap();
    let lines = printer.output.to_string();
    let lines = lines.lines().filter(|line| !line.trim_start().starts_with("@since")).collect::<Vec<_>>().join("\n");
    let mut items = lines.split("\n\n").map(|item| item.trim().to_string()).collect::<Vec<_>>();
    items.sort();
    items
}

fn analyzer(resolve: &Resolve) -> InterfaceId {
    resolve.interfaces.iter().find(|(_, interface)| interface.name.as_deref() == Some("analyzer")).unwrap().0
}

#[test]
fn the_component_carries_the_contract_that_is_written_down() {
    let mut written = Resolve::default();
    written.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")).unwrap();
    let decoded = wit_component::decode(COMPONENT).unwrap();
    assert_eq!(items(decoded.resolve(), analyzer(decoded.resolve())), items(&written, analyzer(&written)));
    let mut printed = Resolve::default();
    printed.push_str("becalm.wit", CONTRACT).unwrap();
    assert_eq!(items(&printed, analyzer(&printed)), items(&written, analyzer(&written)));
}

/// With the default features, in a build that has nothing else in it.
#[test]
fn whoever_embeds_compiles_nothing_that_only_the_program_needs() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--package", "becalm", "--edges", "normal,features", "--prefix", "none"]);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.lines().any(|line| line.starts_with("reqwest ")), "{}", String::from_utf8_lossy(&output.stderr));
    for line in tree.lines() {
        let (name, _) = line.split_once(' ').unwrap_or((line, ""));
        assert!(!OF_THE_PROGRAM.contains(&name) && !line.starts_with("tokio feature \"test-util\""), "{line}");
    }
}

const OF_THE_PROGRAM: [&str; 9] =
    ["clap", "csv", "etcetera", "glob", "indicatif", "tempfile", "toml", "tracing-subscriber", "walkdir"];
