//! becalm as a WASI HTTP service: a batch in the form of OpenAI's Batch API comes by POST, a line for each document, and each
//! outcome is a line of the answer as soon as it is there. To be composed with becalm's component.
//!
//! The endpoint is named by the header `becalm-base-url`, the key for it is the request's own `authorization`. So whoever may
//! call the service may have it call any host that the platform lets it reach.

#![allow(unsafe_code, missing_docs, reason = "generated bindings")]

wit_bindgen::generate!({
    path: "../../../wit",
    inline: r"
        package example:service;

        world service {
            import becalm:batch/analyzer@0.2.0;
        }
    ",
    world: "example:service/service",
    generate_all,
});

use becalm::batch::analyzer::{
    Document, Happening, Header, Input, Outcome, Session, Settings, SubmitError, Verdict, default_settings,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{Fields, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam};
use wasip2::io::streams::{OutputStream, StreamError};

struct Service;

wasip2::http::proxy::export!(Service);

impl Guest for Service {
    fn handle(request: IncomingRequest, answer: ResponseOutparam) {
        match opened(&request) {
            Ok(session) => respond(answer, 200, |stream| bring_home(&session, stream)),
            Err((status, message)) => respond(answer, status, |stream| write(stream, &format!("{message}\n"))),
        }
    }
}

/// A session with all documents of the request; else an HTTP status, and what is wrong.
fn opened(request: &IncomingRequest) -> Result<Session, (u16, String)> {
    if !matches!(request.method(), Method::Post) {
        return Err((405, "a batch comes by POST".into()));
    }
    let wrong = |message: String| (400, message);
    let settings = settings(&request.headers()).map_err(wrong)?;
    let body = body(request).map_err(wrong)?;
    let lines = body.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let documents = lines.map(|(line, number)| document(line).ok_or(format!("line {number} is no document")));
    let documents = documents.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let session = Session::open(&settings).map_err(|error| wrong(format!("{}: {}", error.field, error.message)))?;
    match session.submit(&documents) {
        Ok(()) => Ok(session),
        Err(SubmitError::DuplicateId(id)) => Err(wrong(format!("the id {id:?} occurs twice"))),
        Err(SubmitError::Stopped) => Err((500, "the session has ended".into())),
    }
}

fn settings(headers: &Fields) -> Result<Settings, String> {
    let first = |name: &str| headers.get(name).into_iter().next().and_then(|value| String::from_utf8(value).ok());
    let mut settings = default_settings();
    settings.endpoint.base_url = first("becalm-base-url").ok_or("becalm-base-url is missing")?;
    settings
        .endpoint
        .headers
        .extend(first("authorization").map(|value| Header { name: "authorization".into(), value }));
    Ok(settings)
}

fn body(request: &IncomingRequest) -> Result<String, String> {
    let body = request.consume().map_err(|()| "there is no body")?;
    let stream = body.stream().map_err(|()| "there is no body")?;
    let mut bytes = vec![];
    loop {
        match stream.blocking_read(PIECE) {
            Ok(piece) => bytes.extend(piece),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => return Err(error.to_debug_string()),
        }
    }
    String::from_utf8(bytes).map_err(|_| "the body is not UTF-8".into())
}

/// `{"custom_id": …, "body": {…}}`
fn document(line: &str) -> Option<Document> {
    let line = serde_json::from_str::<Value>(line).ok()?;
    Some(Document { id: line.get("custom_id")?.as_str()?.into(), input: Input::Request(line.get("body")?.to_string()) })
}

/// Writes a line for each outcome. Where nobody reads them any more, the session ends with this, and so do its requests.
fn bring_home(session: &Session, stream: &OutputStream) -> Result<(), StreamError> {
    loop {
        let events = session.next(WAIT);
        for event in &events {
            if let Happening::Outcome(outcome) = &event.what {
                write(stream, &format!("{}\n", line(outcome)))?;
            }
        }
        let status = session.status();
        if status.queued == 0 && status.in_flight == 0 && status.unheard == 0 {
            return Ok(());
        }
    }
}

fn line(outcome: &Outcome) -> Value {
    let (response, error) = match &outcome.verdict {
        Verdict::Answered(answer) => {
            let body = RawValue::from_string(answer.body.clone()).ok();
            (json!({"status_code": answer.status, "request_id": answer.request_id, "body": body}), Value::Null)
        }
        Verdict::Failed(failure) => (Value::Null, json!({"message": failure.message})),
        Verdict::Postponed(postponement) => (Value::Null, json!({"message": postponement.message})),
    };
    json!({"custom_id": outcome.id, "response": response, "error": error})
}

/// Starts the answer, and lets its body be written.
fn respond(answer: ResponseOutparam, status: u16, write: impl FnOnce(&OutputStream) -> Result<(), StreamError>) {
    let response = OutgoingResponse::new(Fields::new());
    response.set_status_code(status).expect("it is a status");
    let body = response.body().expect("it was not taken before");
    ResponseOutparam::set(answer, Ok(response));
    let stream = body.write().expect("it was not taken before");
    let written = write(&stream);
    drop(stream);
    if written.is_ok() {
        let _ = OutgoingBody::finish(body, None);
    }
}

fn write(stream: &OutputStream, text: &str) -> Result<(), StreamError> {
    text.as_bytes().chunks(MOST_AT_ONCE).try_for_each(|piece| stream.blocking_write_and_flush(piece))
}

const PIECE: u64 = 64 * 1024;
/// WASI lets one write have no more.
const MOST_AT_ONCE: usize = 4096;
/// In milliseconds.
const WAIT: u64 = 1_000;
