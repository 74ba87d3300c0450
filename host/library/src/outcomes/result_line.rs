//! A line of results: the form of OpenAI's Batch API with a `becalm` object beside. Written here, read by a later run and by
//! `becalm report`.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::shortfall::Shortfall;
use crate::contract::{Answer, Failure, FailureKind, Outcome, PostponeReason, Postponement, Verdict};
use crate::documents::Fingerprint;

/// One line; `Body` is what is read of an answer's body.
#[derive(Debug, Deserialize, Serialize)]
#[serde(bound(deserialize = "Body: Default + Deserialize<'de>"))]
pub struct ResultLine<'a, Body> {
    /// Of the request: `batch_req_` and the document's id.
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    /// Of the document.
    #[serde(borrow)]
    pub custom_id: Cow<'a, str>,
    /// What came back, `null` where nothing did. Absent in a line that is none of results.
    #[serde(default, deserialize_with = "there")]
    pub response: Option<Option<Response<Body>>>,
    /// Why there is no answer, `null` where there is one. Absent in a line that is none of results.
    #[serde(borrow, default, deserialize_with = "there")]
    pub error: Option<Option<Fault<'a>>>,
    /// What the Batch API has no place for.
    #[serde(borrow)]
    pub becalm: Option<Becalm<'a>>,
}

/// What came back.
#[derive(Debug, Deserialize, Serialize)]
#[serde(bound(deserialize = "Body: Default + Deserialize<'de>"))]
pub struct Response<Body> {
    /// HTTP status.
    pub status_code: u16,
    /// By which the endpoint finds the request again; empty where it named none. (Older lines have `null` then.)
    #[serde(default)]
    pub request_id: Option<String>,
    /// As it came, on one line.
    #[serde(default)]
    pub body: Body,
}

/// Why there is no answer.
#[derive(Debug, Deserialize, Serialize)]
pub struct Fault<'a> {
    /// The kind of failure, or `postponed-` and why.
    #[serde(borrow, default)]
    pub code: Cow<'a, str>,
    /// In words.
    #[serde(borrow, default)]
    pub message: Cow<'a, str>,
}

/// What the Batch API has no place for.
#[derive(Debug, Deserialize, Serialize)]
pub struct Becalm<'a> {
    /// `answered`, `failed` or `postponed`.
    #[serde(borrow, default)]
    pub outcome: Cow<'a, str>,
    /// Which content the outcome is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Fingerprint>,
    /// Requests that were sent for it.
    #[serde(default)]
    pub attempts: u32,
    /// How many of them were refused.
    #[serde(default)]
    pub refusals: u32,
    /// From its first request to its outcome, less what was on the wire.
    #[serde(default)]
    pub waited_ms: u64,
    /// What is missing of an answer: `cut-off`, `empty` or `refused-by-model`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Cow<'a, str>>,
    /// What is to be known of an answer.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Cow<'a, str>>,
    /// When a document that was put off can go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_epoch_ms: Option<u64>,
}

/// How a document ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an answer.
    Answered,
    /// For good.
    Failed,
    /// For this time.
    Postponed,
}

impl<Body> ResultLine<'_, Body> {
    /// How its document ended; nothing if the line is none of results, or says nothing.
    pub fn ending(&self) -> Option<Ending> {
        let status = self.response.as_ref().and_then(Option::as_ref).map(|response| response.status_code);
        match self.error.as_ref().and_then(Option::as_ref) {
            Some(fault) if fault.code.starts_with(POSTPONED) => Some(Ending::Postponed),
            Some(_) => Some(Ending::Failed),
            None => status.is_some_and(|status| (200..300).contains(&status)).then_some(Ending::Answered),
        }
    }

    /// Whether it has what each line of results has. (An input has ids too.)
    pub const fn is_of_results(&self) -> bool {
        self.response.is_some() || self.error.is_some()
    }
}

/// The line, without its end; `document` is what was sent.
pub fn line(outcome: &Outcome, document: Option<Fingerprint>) -> String {
    let (name, response, error) = parts(&outcome.verdict);
    let (answer, until_epoch_ms) = match &outcome.verdict {
        Verdict::Answered(answer) => (Some(answer), None),
        Verdict::Postponed(postponement) => (None, postponement.until),
        Verdict::Failed(_) => (None, None),
    };
    let line = ResultLine {
        id: format!("batch_req_{}", outcome.id).into(),
        custom_id: outcome.id.as_str().into(),
        response: Some(response),
        error: Some(error),
        becalm: Some(Becalm {
            outcome: name.into(),
            document,
            attempts: outcome.attempts,
            refusals: outcome.refusals,
            waited_ms: outcome.waited,
            shortfall: answer.and_then(Shortfall::of).map(|shortfall| shortfall.name().into()),
            note: answer.and_then(|answer| answer.note.as_deref()).map(Cow::from),
            until_epoch_ms,
        }),
    };
    serde_json::to_string(&line)
        .unwrap_or_else(|error| json!({"custom_id": outcome.id, "error": {"message": error.to_string()}}).to_string())
}

type Written = Response<Box<RawValue>>;

fn parts(verdict: &Verdict) -> (&'static str, Option<Written>, Option<Fault<'_>>) {
    let fault = |code: Cow<'static, str>, message| Some(Fault { code, message: Cow::Borrowed(message) });
    match verdict {
        Verdict::Answered(Answer { status, request_id, body, .. }) => {
            ("answered", Some(response(*status, request_id.clone(), body)), None)
        }
        Verdict::Failed(Failure { kind, message, status, request_id, body }) => {
            let body = body.as_deref().unwrap_or("null");
            let response = status.map(|status| response(status, request_id.clone(), body));
            ("failed", response, fault(failure_code(*kind).into(), message))
        }
        Verdict::Postponed(Postponement { reason, message, .. }) => {
            ("postponed", None, fault(format!("{POSTPONED}-{}", reason_code(*reason)).into(), message))
        }
    }
}

fn response(status_code: u16, request_id: Option<String>, body: &str) -> Written {
    Response { status_code, request_id: Some(request_id.unwrap_or_default()), body: on_one_line(body) }
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

/// What is there, be it null.
fn there<'de, Value: Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
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

const fn reason_code(reason: PostponeReason) -> &'static str {
    match reason {
        PostponeReason::Patience => "patience",
        PostponeReason::Stopped => "stopped",
        PostponeReason::Halted => "halted",
    }
}

/// How the codes of what was put off begin.
const POSTPONED: &str = "postponed";

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(body: &str) -> Outcome {
        let answer = Answer {
            text: Some("t".into()),
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
