//! A component with becalm's contract that tries to do harm. The model's name says which; the first event of a session is
//! an outcome, the second is what came of the attempt.

#![allow(unsafe_code, missing_docs, reason = "generated bindings")]

wit_bindgen::generate!({ path: "../../../wit", world: "batch" });

use std::cell::Cell;

use exports::becalm::batch::analyzer::{
    self, Document, Event, Failure, FailureKind, Happening, Outcome, Report, Settings, SettingsError, Status,
    SubmitError, Verdict,
};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{ErrorCode, Fields, HeaderError, Method, OutgoingBody, OutgoingRequest, Scheme};

struct Hostile;

export!(Hostile);

struct Session {
    attempt: String,
    authority: String,
    calls: Cell<u32>,
}

impl analyzer::Guest for Hostile {
    type Session = Session;

    fn default_settings() -> Settings {
        panic!("it has none")
    }

    fn analyze_batch(_documents: Vec<Document>, _settings: Settings) -> Result<Report, SettingsError> {
        panic!("it is only asked in sessions")
    }
}

impl analyzer::GuestSession for Session {
    fn open(settings: Settings) -> Result<analyzer::Session, SettingsError> {
        let authority = settings.endpoint.base_url.trim_start_matches("http://").to_string();
        Ok(analyzer::Session::new(Self { attempt: settings.chat.model, authority, calls: Cell::new(0) }))
    }

    fn submit(&self, _documents: Vec<Document>) -> Result<(), SubmitError> {
        Ok(())
    }

    fn next(&self, _wait: u64) -> Vec<Event> {
        match self.calls.replace(self.calls.get() + 1) {
            0 => vec![outcome("harmless", "so far")],
            _ => vec![outcome(&self.attempt, &came_of(&self.attempt, &self.authority))],
        }
    }

    fn stop(&self) {}

    fn status(&self) -> Status {
        Status {
            queued: 1,
            in_flight: 0,
            unheard: 0,
            answered: 0,
            failed: 0,
            postponed: 0,
            refusals: 0,
            paused: None,
            limits: vec![],
        }
    }
}

fn outcome(id: &str, message: &str) -> Event {
    let kind = FailureKind::Rejected;
    let failure = Failure { kind, message: message.into(), status: None, request_id: None, body: None };
    let outcome = Outcome { id: id.into(), verdict: Verdict::Failed(failure), attempts: 1, refusals: 0, waited: 0 };
    Event { at: 0, what: Happening::Outcome(outcome) }
}

/// Tries it. `authority` is the one that the host allows.
fn came_of(attempt: &str, authority: &str) -> String {
    match attempt {
        "compute for ever" => loop {
            core::hint::spin_loop();
        },
        "take all memory" => {
            let mut taken = vec![];
            loop {
                taken.push(vec![1_u8; 16 * 1024 * 1024]);
            }
        }
        "take all resources" => {
            let mut taken = vec![];
            loop {
                taken.push(Fields::new());
            }
        }
        "panic" => panic!("on purpose"),
        "set the key" => set("authorization", b"Bearer mine"),
        "set a cookie" => set("cookie", b"a=b"),
        "choose the host" => set("host", b"elsewhere"),
        "set a large header" => set("x-large", &vec![b'x'; 1024 * 1024]),
        "set many headers" => {
            let fields = Fields::new();
            (0..).find_map(|n| fields.append(&format!("x-{n}"), b"").err().map(refused)).unwrap_or_default()
        }
        "send a huge body" => send(authority, &Method::Post, PATH, 300),
        "reach another host" => send("elsewhere.invalid", &Method::Post, PATH, 0),
        "reach another port" => send("127.0.0.1:9", &Method::Post, PATH, 0),
        "reach the machine's own data" => send("169.254.169.254", &Method::Post, PATH, 0),
        "be someone else" => send(&format!("someone:else@{authority}"), &Method::Post, PATH, 0),
        "read what belongs to the key" => send(authority, &Method::Get, "/v1/files", 0),
        "delete what belongs to the key" => send(authority, &Method::Delete, PATH, 0),
        "start what costs more" => send(authority, &Method::Post, "/v1/fine_tuning/jobs", 0),
        other => format!("what is {other}?"),
    }
}

fn set(name: &str, value: &[u8]) -> String {
    Fields::new().append(name, value).map_or_else(refused, |()| "it was taken".into())
}

fn refused(error: HeaderError) -> String {
    format!("{error:?}")
}

const PATH: &str = "/v1/chat/completions";

/// Sends a request with a body of so many MiB, and waits for its end.
fn send(authority: &str, method: &Method, path: &str, mib: usize) -> String {
    let request = OutgoingRequest::new(Fields::new());
    let set = [
        request.set_scheme(Some(&Scheme::Http)),
        request.set_authority(Some(authority)),
        request.set_path_with_query(Some(path)),
        request.set_method(method),
    ];
    if set.contains(&Err(())) {
        return "there is no such place".into();
    }
    let body = request.body().expect("it was not taken before");
    match handle(request, None) {
        Err(code) => failed(&code),
        Ok(response) => {
            write(&body, mib);
            let _ = OutgoingBody::finish(body, None);
            response.subscribe().block();
            match response.get() {
                Some(Ok(Ok(_))) => "it was answered".into(),
                Some(Ok(Err(code))) => failed(&code),
                _ => "nothing came".into(),
            }
        }
    }
}

fn failed(code: &ErrorCode) -> String {
    format!("{code:?}")
}

/// For as long as the host takes it.
fn write(body: &OutgoingBody, mib: usize) {
    let stream = body.write().expect("it was not taken before");
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..mib {
        stream.subscribe().block();
        match stream.check_write() {
            Ok(room) if room >= piece.len() as u64 && stream.write(&piece).is_ok() => {}
            _ => return,
        }
    }
}
