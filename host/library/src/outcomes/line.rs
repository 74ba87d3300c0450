//! An outcome as a line in the form of OpenAI's Batch API, with a `becalm` object beside.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::contract::{Answer, Failure, FailureKind, Outcome, PostponeReason, Postponement, Verdict};
use crate::documents::Fingerprint;

#[derive(Serialize)]
struct Line<'a> {
    id: String,
    custom_id: &'a str,
    response: Option<Response>,
    error: Option<Fault<'a>>,
    becalm: Becalm<'a>,
}

#[derive(Serialize)]
struct Response {
    status_code: u16,
    request_id: Option<String>,
    body: Box<RawValue>,
}

#[derive(Serialize)]
struct Fault<'a> {
    code: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct Becalm<'a> {
    outcome: &'static str,
    /// Which content the outcome is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    attempts: u32,
    refusals: u32,
    waited_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_epoch_ms: Option<u64>,
}

/// The line, without its end; `document` is what was sent.
pub fn line(outcome: &Outcome, document: Option<Fingerprint>) -> String {
    let (name, response, error) = parts(&outcome.verdict);
    let (note, until_epoch_ms) = match &outcome.verdict {
        Verdict::Answered(answer) => (answer.note.as_deref(), None),
        Verdict::Postponed(postponement) => (None, postponement.until),
        Verdict::Failed(_) => (None, None),
    };
    let line = Line {
        id: format!("batch_req_{}", outcome.id),
        custom_id: &outcome.id,
        response,
        error,
        becalm: Becalm {
            outcome: name,
            document: document.map(|document| document.to_string()),
            attempts: outcome.attempts,
            refusals: outcome.refusals,
            waited_ms: outcome.waited,
            note,
            until_epoch_ms,
        },
    };
    serde_json::to_string(&line)
        .unwrap_or_else(|error| json!({"custom_id": outcome.id, "error": {"message": error.to_string()}}).to_string())
}

fn parts(verdict: &Verdict) -> (&'static str, Option<Response>, Option<Fault<'_>>) {
    match verdict {
        Verdict::Answered(Answer { status, request_id, body, .. }) => {
            ("answered", Some(response(*status, request_id.as_deref(), body)), None)
        }
        Verdict::Failed(Failure { kind, message, status, request_id, body }) => {
            let body = body.as_deref().unwrap_or("null");
            let response = status.map(|status| response(status, request_id.as_deref(), body));
            ("failed", response, Some(Fault { code: failure_code(*kind), message }))
        }
        Verdict::Postponed(Postponement { reason, message, .. }) => {
            ("postponed", None, Some(Fault { code: postpone_code(*reason), message }))
        }
    }
}

fn response(status_code: u16, request_id: Option<&str>, body: &str) -> Response {
    Response { status_code, request_id: request_id.map(String::from), body: on_one_line(body) }
}

/// JSON as it came, if it is on one line; else without its line ends. Anything else as a string.
fn on_one_line(body: &str) -> Box<RawValue> {
    let value = if body.contains(['\n', '\r']) {
        serde_json::from_str::<Value>(body).ok().and_then(|value| to_raw_value(&value).ok())
    } else {
        RawValue::from_string(body.into()).ok()
    };
    value.or_else(|| to_raw_value(body).ok()).unwrap_or_else(|| RawValue::NULL.to_owned())
}

const fn failure_code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Rejected => "rejected",
        FailureKind::Unauthorised => "unauthorised",
        FailureKind::NotFound => "not-found",
        FailureKind::TooLarge => "too-large",
        FailureKind::OutOfCredit => "out-of-credit",
        FailureKind::Unreachable => "unreachable",
        FailureKind::ServerFault => "server-fault",
        FailureKind::UnusableAnswer => "unusable-answer",
        FailureKind::InvalidDocument => "invalid-document",
    }
}

const fn postpone_code(reason: PostponeReason) -> &'static str {
    match reason {
        PostponeReason::Patience => "postponed-patience",
        PostponeReason::Stopped => "postponed-stopped",
        PostponeReason::Halted => "postponed-halted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(body: &str) -> Outcome {
        let answer = Answer {
            text: None,
            finish_reason: None,
            note: None,
            usage: None,
            status: 200,
            request_id: Some("r1".into()),
            body: body.into(),
        };
        Outcome { id: "a".into(), verdict: Verdict::Answered(answer), attempts: 2, refusals: 1, waited: 52_000 }
    }

    #[test]
    fn a_line_has_the_form_of_the_batch_api() {
        assert_eq!(
            line(&answered("{\"n\": 1.50}"), None),
            "{\"id\":\"batch_req_a\",\"custom_id\":\"a\",\
             \"response\":{\"status_code\":200,\"request_id\":\"r1\",\"body\":{\"n\": 1.50}},\"error\":null,\
             \"becalm\":{\"outcome\":\"answered\",\"attempts\":2,\"refusals\":1,\"waited_ms\":52000}}"
        );
    }

    #[test]
    fn a_body_never_breaks_the_line() {
        assert!(line(&answered("{\n \"b\": 1,\n \"a\": 2\n}"), None).contains("\"body\":{\"b\":1,\"a\":2}"));
        assert!(line(&answered("<html>\n"), None).contains("\"body\":\"<html>\\n\""));
    }
}
