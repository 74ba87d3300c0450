//! What a scenario's endpoint does with a request, the same for policy and component.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::Sender;
use becalm::http::{Answered, Timeouts, TransportError};
use becalm::server::Server;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::sleep;

use super::scenario::{Scenario, Turn};

#[derive(Clone)]
pub(crate) enum Endpoint {
    Script(Arc<Mutex<VecDeque<Turn>>>),
    Model(Arc<Server>),
}

/// What comes back: an answer, perhaps cut off by an error, or an error alone.
pub(crate) struct Coming {
    pub(crate) answer: Option<Response<Bytes>>,
    pub(crate) error: Option<String>,
}

impl Endpoint {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        match &scenario.server {
            Some(served) => Self::Model(Arc::new(Server::new(served.model()))),
            None => Self::Script(Arc::new(Mutex::new(scenario.exchange.iter().cloned().collect()))),
        }
    }

    pub(crate) async fn answer(&self, request: Request<Bytes>) -> Coming {
        match self {
            Self::Model(server) => Coming { answer: Some(server.handle(request).await), error: None },
            Self::Script(turns) => {
                let turn = next(&mut turns.lock().unwrap(), request.body());
                sleep(Duration::from_millis(turn.delay_ms)).await;
                if turn.error.as_deref() == Some("never") {
                    std::future::pending::<()>().await;
                }
                played(&turn)
            }
        }
    }
}

/// The first turn that is for such a request.
fn next(turns: &mut VecDeque<Turn>, request: &[u8]) -> Turn {
    let request = String::from_utf8_lossy(request);
    let is_for_it = |turn: &Turn| turn.when.as_ref().is_none_or(|text| request.contains(text));
    let Some(index) = turns.iter().position(is_for_it) else { return Turn::over() };
    let turn = &mut turns[index];
    let played = turn.clone();
    match turn.times {
        0 => {}
        1 => drop(turns.remove(index)),
        _ => turn.times -= 1,
    }
    played
}

fn played(turn: &Turn) -> Coming {
    let has_answer = turn.error.is_none() || turn.status.is_some();
    let answer = has_answer.then(|| {
        let mut response = Response::builder().status(turn.status.unwrap_or(200));
        for (name, values) in &turn.headers {
            for value in values.all() {
                response = response.header(name, value.as_bytes());
            }
        }
        response.body(Bytes::from(body(turn))).unwrap()
    });
    Coming { answer, error: turn.error.clone() }
}

fn body(turn: &Turn) -> String {
    match (&turn.body, turn.text_bytes) {
        (Some(body), _) => body.clone(),
        (None, Some(bytes)) => COMPLETION.replace("\"ok\"", &format!("\"{}\"", "x".repeat(bytes))),
        (None, None) => COMPLETION.into(),
    }
}

impl Sender for Endpoint {
    fn send(&self, request: Request<Bytes>, _timeouts: Timeouts) -> Answered {
        let endpoint = self.clone();
        Box::pin(async move {
            let Coming { answer, error } = endpoint.answer(request).await;
            let error = error.map(|name| errors(&name).0);
            let Some(answer) = answer else { return Err(error.unwrap()) };
            Ok(answer.map(|body| ending(body, error)))
        })
    }
}

fn ending(body: Bytes, error: Option<TransportError>) -> UnsyncBoxBody<Bytes, TransportError> {
    let frames = [Ok(Frame::data(body))].into_iter().chain(error.map(Err));
    StreamBody::new(tokio_stream::iter(frames.collect::<Vec<_>>())).boxed_unsync()
}

/// The same error to the host and to the policy.
pub(crate) fn errors(name: &str) -> (TransportError, becalm_policy::TransportError) {
    use becalm_policy::TransportError as Policy;
    match name {
        "connection-limit-reached" => (TransportError::ConnectionLimitReached, Policy::ConnectionLimitReached),
        "connection-refused" => (TransportError::ConnectionRefused, Policy::ConnectionRefused),
        "connection-terminated" => (TransportError::ConnectionTerminated, Policy::ConnectionTerminated),
        "connection-read-timeout" => (TransportError::ConnectionReadTimeout, Policy::ConnectionReadTimeout),
        "connection-timeout" => (TransportError::ConnectionTimeout, Policy::ConnectionTimeout),
        "dns-error" => (TransportError::DnsError, Policy::DnsError),
        "http-response-incomplete" => (TransportError::HttpResponseIncomplete, Policy::HttpResponseIncomplete),
        "http-response-timeout" => (TransportError::HttpResponseTimeout, Policy::HttpResponseTimeout),
        "tls-certificate-error" => (TransportError::TlsCertificateError, Policy::TlsCertificateError),
        _ => panic!("no such transport error here: {name}"),
    }
}

const COMPLETION: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1796040000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}"#;
