//! The API key never enters the sandbox, and nothing but the allowed origin is reached from it.

#![allow(unsafe_code, reason = "reading a guest's memory from outside is what is tested here")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::http::{Answered, Body, Timeouts};
use becalm::server::{InProcess, Model, Server};
use becalm::{Access, Document, FailureKind, Sandbox, Sender, Settings, Verdict};
use bytes::Bytes;
use http_body_util::BodyExt;
use support::settings;
use wasmtime::{Config, LinearMemory, MemoryCreator, MemoryType};

const KEY: &str = "sk-7c1f0e5a-this-must-stay-outside-93b2d846";
const KNOWN: &str = "a text that the guest has to know";

/// Remembers the memory of every guest.
#[derive(Default)]
struct Watched(Mutex<Vec<Arc<Memory>>>);

/// A guest's memory: all that it could ever grow to, so that it stays where it is.
struct Memory {
    bytes: Box<[u8]>,
    size: Mutex<usize>,
}

struct Handle(Arc<Memory>);

unsafe impl MemoryCreator for Watched {
    fn new_memory(
        &self,
        _type: MemoryType,
        minimum: usize,
        _maximum: Option<usize>,
        _reserved: Option<usize>,
        _guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let memory = Arc::new(Memory { bytes: vec![0; MOST_MEMORY].into(), size: Mutex::new(minimum) });
        self.0.lock().unwrap().push(Arc::clone(&memory));
        Ok(Box::new(Handle(memory)))
    }
}

unsafe impl LinearMemory for Handle {
    fn byte_size(&self) -> usize {
        *self.0.size.lock().unwrap()
    }

    fn byte_capacity(&self) -> usize {
        MOST_MEMORY
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        *self.0.size.lock().unwrap() = size;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.bytes.as_ptr().cast_mut()
    }
}

impl Watched {
    /// Whether any guest has these bytes anywhere in its memory, freed memory included.
    fn knows(&self, needle: &str) -> bool {
        let memories = self.0.lock().unwrap();
        memories.iter().any(|memory| memory.bytes.windows(needle.len()).any(|bytes| bytes == needle.as_bytes()))
    }
}

/// The same answer, from an endpoint that repeats the key in a header and in the body.
async fn echoing(answer: http::Response<Body>) -> http::Response<Body> {
    let (mut parts, body) = answer.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let body = body.replacen('{', &format!("{{\"echo\":\"Bearer {KEY}\","), 1);
    parts.headers.insert("x-echo", KEY.parse().unwrap());
    http::Response::from_parts(parts, becalm::http::body(body))
}

/// Remembers the key that came with each request.
struct KeyKeeper {
    inner: InProcess,
    keys: Mutex<Vec<Option<String>>>,
}

impl Sender for KeyKeeper {
    fn send(&self, request: http::Request<Bytes>, timeouts: Timeouts) -> Answered {
        let key = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_string());
        self.keys.lock().unwrap().push(key);
        let answered = self.inner.send(request, timeouts);
        Box::pin(async move { Ok(echoing(answered.await?).await) })
    }
}

fn keeper() -> Arc<KeyKeeper> {
    let inner = InProcess(Arc::new(Server::new(Model::default())));
    Arc::new(KeyKeeper { inner, keys: Mutex::default() })
}

async fn send(sandbox: &Sandbox, settings: &Settings, origin: &str, sender: Arc<KeyKeeper>) -> Verdict {
    let access = Access::new(origin, Some(KEY.into())).unwrap();
    let report = sandbox.analyze_batch(&[Document::text("a", "Some text.")], settings, access, sender).await.unwrap();
    report.outcomes[0].verdict.clone()
}

#[tokio::test(start_paused = true)]
async fn the_guest_never_sees_the_key_that_its_requests_carry() {
    let watched = Arc::new(Watched::default());
    let mut config = Config::new();
    config.with_host_memory(Arc::clone(&watched) as _);
    config.memory_reservation(0).memory_guard_size(0).memory_reservation_for_growth(0).memory_init_cow(false);
    let sandbox = Sandbox::with_config(&config).unwrap();
    let sender = keeper();
    let mut settings = settings();
    // The session keeps it for as long as it lives.
    settings.chat.system_prompt = Some(KNOWN.into());
    let access = Access::new("http://model.invalid", Some(KEY.into())).unwrap();
    let mut session = sandbox.open(settings, access, Arc::clone(&sender) as _).await.unwrap();
    session.submit(vec![Document::text("a", "Some text.")]).await.unwrap();
    while !session.is_done().await.unwrap() {
        session.next(Duration::from_secs(60)).await.unwrap();
    }
    assert_eq!(session.status().await.unwrap().answered, 1);
    assert_eq!(*sender.keys.lock().unwrap(), [Some(format!("Bearer {KEY}"))]);
    assert!(watched.knows(KNOWN), "the search finds nothing at all");
    assert!(!watched.knows(KEY));
}

#[tokio::test(start_paused = true)]
async fn another_origin_is_refused_before_anything_is_sent() {
    for origin in ["http://other.invalid", "https://model.invalid", "http://model.invalid:8080"] {
        let sender = keeper();
        let verdict = send(&support::SANDBOX, &settings(), origin, Arc::clone(&sender)).await;
        assert!(matches!(verdict, Verdict::Failed(failure) if failure.kind == FailureKind::Unreachable));
        assert!(sender.keys.lock().unwrap().is_empty(), "{origin}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_guest_cannot_set_a_key_of_its_own() {
    let mut settings = settings();
    settings.endpoint.headers = vec![becalm::Header { name: "Authorization".into(), value: "Bearer other".into() }];
    let sender = keeper();
    let verdict = send(&support::SANDBOX, &settings, "http://model.invalid", Arc::clone(&sender)).await;
    assert!(matches!(verdict, Verdict::Failed(_)), "{verdict:?}");
    assert!(sender.keys.lock().unwrap().is_empty());
}

const MOST_MEMORY: usize = 64 * 1024 * 1024;
