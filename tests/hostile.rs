//! A component that tries to do harm: what it does ends at the sandbox's limits, with an error that says so, and what it
//! brought home before is kept.

#[path = "support/guest.rs"]
mod guest;

use std::net::TcpListener;
use std::sync::LazyLock;
use std::time::Duration;

use becalm::{Access, Error, Event, Happening, Pool, Route, Sandbox, Settings, Verdict};
use tokio::time::timeout;
use wasmtime::Config;

static HOSTILE: LazyLock<Sandbox> =
    LazyLock::new(|| Sandbox::with_component(&Config::new(), &guest::component("becalm-hostile")).unwrap());

const LONG: Duration = Duration::from_secs(60);

/// What came of an attempt, after an outcome that it brought home before.
async fn came_of(attempt: &str) -> Result<String, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let mut settings = Settings::default();
    settings.chat.model = attempt.into();
    settings.endpoint.base_url = base_url.clone();
    let sender = Pool::new(&settings.timeouts, &Route::default()).unwrap();
    let access = Access::new(&base_url, Some("sk-secret".into())).unwrap();
    let mut session = HOSTILE.open(settings, access, sender).await.unwrap();
    let before = session.next(Duration::ZERO).await.unwrap();
    assert_eq!(message(&before), "so far", "what came before is kept");
    let after = timeout(LONG, session.next(Duration::ZERO)).await.expect("an end")?;
    // Nothing ever reached the one endpoint that it may reach.
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "{attempt}: it got through");
    Ok(message(&after))
}

fn message(events: &[Event]) -> String {
    match events {
        [Event { what: Happening::Outcome(outcome), .. }] => match &outcome.verdict {
            Verdict::Failed(failure) => failure.message.clone(),
            verdict => panic!("{verdict:?}"),
        },
        events => panic!("{events:?}"),
    }
}

async fn error_of(attempt: &str) -> String {
    came_of(attempt).await.expect_err("it went on").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_reaches_nothing_but_its_endpoint() {
    for attempt in [
        "reach another host",
        "reach another port",
        "reach the machine's own data",
        "be someone else",
        "read what belongs to the key",
        "delete what belongs to the key",
        "start what costs more",
    ] {
        assert_eq!(came_of(attempt).await.unwrap(), "ErrorCode::HttpRequestDenied", "{attempt}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_sets_no_header_of_the_hosts() {
    for attempt in ["set the key", "set a cookie", "choose the host"] {
        assert_eq!(came_of(attempt).await.unwrap(), "HeaderError::Forbidden", "{attempt}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_sends_has_an_end() {
    assert_eq!(came_of("send a huge body").await.unwrap(), "ErrorCode::HttpRequestBodySize(Some(134217728))");
    for attempt in ["set a large header", "set many headers"] {
        let error = error_of(attempt).await;
        assert!(error.starts_with("the component failed: total size of fields exceeds limit"), "{attempt}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_takes_has_an_end() {
    for (attempt, message) in [
        ("take all memory", "forcing trap when growing memory to"),
        ("take all resources", "cannot allocate another handle: store handle limit exceeded"),
        ("compute for ever", "it computed for 10 s without a call to the host"),
    ] {
        let error = error_of(attempt).await;
        assert!(error.starts_with(&format!("the component failed: {message}")), "{attempt}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_says_where_it_was() {
    let error = error_of("panic").await;
    assert!(error.starts_with("the component failed: wasm trap: wasm `unreachable` instruction executed"), "{error}");
    assert!(error.contains("[method]session.next"), "{error}");
}
