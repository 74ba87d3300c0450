//! The one table: what a reply, or the lack of one, means for its document. Structured codes come before words.

use alloc::format;
use alloc::string::ToString;

use crate::advice::{self, failure};
use crate::answer;
use crate::complaint::Complaint;
use crate::hints::Hint;
use crate::outcome::{Answer, Failure, FailureKind};
use crate::reply::Reply;
use crate::settings::About;
use crate::transport::TransportError;

/// What a reply means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is a completion.
    Answered(Answer),
    /// The endpoint did not admit the request; it will, later.
    Refused,
    /// The endpoint does not admit so many requests at one time.
    Crowded,
    /// Something went wrong that may not go wrong again.
    Retry(Fault),
    /// Trying again will not help.
    Final(Failure, Reach),
}

/// A try that may go better next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the document ends as, if it does not.
    pub failure: Failure,
    /// Whom it concerns.
    pub reach: Reach,
    /// Whether the endpoint has too much to do.
    pub is_overload: bool,
    /// Whether it may only be starting up.
    pub is_cold_start: bool,
}

/// Whom a failure concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This document.
    Document,
    /// Every document of the batch, unless one was answered before.
    UntilProven,
    /// Every document of the batch.
    Batch,
}

/// Judges a reply; `hint` is what it says about waiting.
pub fn judge(reply: &Reply, hint: Option<Hint>, about: &About) -> Verdict {
    if !(200..300).contains(&reply.status) {
        return error(reply, &Complaint::read(&reply.body), hint, about);
    }
    match answer::read(reply) {
        Ok(answer) => Verdict::Answered(answer),
        Err(problem) => no_answer(reply, problem, hint, about),
    }
}

fn error(reply: &Reply, complaint: &Complaint, hint: Option<Hint>, about: &About) -> Verdict {
    if let Some(verdict) = by_code(reply, complaint, about) {
        return verdict;
    }
    let last = |kind, reach| Verdict::Final(failure(reply, complaint, kind, about), reach);
    match reply.status {
        429 if hint.is_none() && complaint.names_concurrency() => Verdict::Crowded,
        429 => Verdict::Refused,
        // The endpoint says when it lets everyone in again.
        403 | 413 if hint.is_some() => fault(reply, complaint, Reach::Batch, about),
        408 | 409 | 425 | 500 | 502..=504 | 506..=599 => fault(reply, complaint, Reach::Document, about),
        401 | 403 => last(FailureKind::Unauthorised, Reach::UntilProven),
        402 => last(FailureKind::OutOfCredit, Reach::Batch),
        404 => last(FailureKind::NotFound, Reach::UntilProven),
        405 | 410 => last(FailureKind::NotFound, Reach::Document),
        413 => last(FailureKind::TooLarge, Reach::Document),
        300..=399 | 407 | 412 | 415 => last(FailureKind::Rejected, Reach::UntilProven),
        _ => last(FailureKind::Rejected, Reach::Document),
    }
}

/// Where a code says more than the status.
fn by_code(reply: &Reply, complaint: &Complaint, about: &About) -> Option<Verdict> {
    let last = |kind, reach| Some(Verdict::Final(failure(reply, complaint, kind, about), reach));
    let is_refusal = reply.status == 429;
    if complaint.names(&OUT_OF_CREDIT) || is_refusal && complaint.is_daily {
        return last(FailureKind::OutOfCredit, Reach::Batch);
    }
    if is_refusal && complaint.asks_too_much() || complaint.names(&TOO_LARGE) {
        return last(FailureKind::TooLarge, Reach::Document);
    }
    if complaint.names(&WRONG_KEY) {
        return last(FailureKind::Unauthorised, Reach::UntilProven);
    }
    if complaint.names(&advice::MODEL) {
        return last(FailureKind::NotFound, Reach::UntilProven);
    }
    match reply.headers.first("x-should-retry") {
        Some("false") => return last(FailureKind::Rejected, Reach::Document),
        Some("true") if !is_refusal => return Some(fault(reply, complaint, Reach::Document, about)),
        _ => {}
    }
    // The request was valid JSON, so a server that denies it did not get all of it.
    let denies_json = reply.status == 400 && DENIES_JSON.iter().any(|words| complaint.message.contains(words));
    (complaint.names(&OVERLOADED) && !is_refusal || denies_json)
        .then(|| fault(reply, complaint, Reach::Document, about))
}

/// A success without an answer. Some endpoints wrap an error in it: then that is judged, by its code or by the status
/// that its code stands for.
fn no_answer(reply: &Reply, problem: &str, hint: Option<Hint>, about: &About) -> Verdict {
    let complaint = Complaint::read(&reply.body);
    if complaint.names(&RATE) {
        return Verdict::Refused;
    }
    if let Some(status) = complaint.status() {
        return error(&Reply { status, ..reply.clone() }, &complaint, hint, about);
    }
    if let Some(verdict) = by_code(reply, &complaint, about) {
        return verdict;
    }
    let failure = failure(reply, &complaint, FailureKind::UnusableAnswer, about);
    let message = match complaint.message.is_empty() {
        true => format!("HTTP {}, but {problem}", reply.status),
        false => format!("HTTP {}, but {problem}: {}", reply.status, complaint.message),
    };
    let failure = Failure { message, ..failure };
    Verdict::Retry(Fault { failure, reach: Reach::Document, is_overload: false, is_cold_start: false })
}

/// Judges a try that ended without an answer.
pub fn judge_transport(error: TransportError) -> Verdict {
    let failure = Failure {
        kind: FailureKind::Unreachable,
        message: error.describe().to_string(),
        status: None,
        request_id: None,
        body: None,
    };
    match (error.is_worth_retrying(), error.concerns_endpoint()) {
        (true, concerns_endpoint) => Verdict::Retry(Fault {
            failure,
            reach: if concerns_endpoint { Reach::UntilProven } else { Reach::Document },
            is_overload: error.is_timeout(),
            is_cold_start: false,
        }),
        (false, true) => Verdict::Final(failure, Reach::Batch),
        (false, false) => Verdict::Final(failure, Reach::Document),
    }
}

fn fault(reply: &Reply, complaint: &Complaint, reach: Reach, about: &About) -> Verdict {
    let is_overload = matches!(reply.status, 503 | 529) || complaint.names(&OVERLOADED);
    let failure = failure(reply, complaint, FailureKind::ServerFault, about);
    let is_cold_start = reply.status == 503;
    Verdict::Retry(Fault { failure, reach, is_overload, is_cold_start })
}

/// Codes that say so whatever the status.
const OUT_OF_CREDIT: [&str; 3] = ["insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low"];
const TOO_LARGE: [&str; 2] = ["context_length_exceeded", "request_too_large"];
const WRONG_KEY: [&str; 1] = ["invalid_api_key"];
const OVERLOADED: [&str; 1] = ["overloaded_error"];
const DENIES_JSON: [&str; 2] = ["could not parse the JSON body", "We could not parse"];
const RATE: [&str; 2] = ["rate_limit_exceeded", "rate_limit_error"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Delay;

    fn verdict(status: u16, body: &str) -> Verdict {
        judge(&Reply { status, body: body.into(), ..Reply::default() }, None, &About::default())
    }

    #[test]
    fn a_refusal_without_credit_is_final_for_all() {
        let verdict = verdict(429, r#"{"error":{"code":"insufficient_quota","message":"You exceeded"}}"#);
        assert!(matches!(verdict, Verdict::Final(failure, Reach::Batch)
            if failure.kind == FailureKind::OutOfCredit && failure.message.contains("You exceeded")));
    }

    #[test]
    fn a_hint_with_an_error_of_access_or_size_is_for_all() {
        let hint = Hint { wait: Delay::from_secs(5), source: "retry-after" };
        for status in [403, 413] {
            let reply = Reply { status, ..Reply::default() };
            assert!(
                matches!(judge(&reply, Some(hint), &About::default()), Verdict::Retry(fault) if fault.reach == Reach::Batch)
            );
            assert!(matches!(judge(&reply, None, &About::default()), Verdict::Final(..)));
        }
        let reply = Reply { status: 503, ..Reply::default() };
        assert!(matches!(judge(&reply, Some(hint), &About::default()), Verdict::Retry(fault) if fault.is_overload));
    }

    #[test]
    fn a_success_may_be_a_refusal_in_disguise() {
        assert_eq!(verdict(200, r#"{"error":{"code":429,"message":"slow down"}}"#), Verdict::Refused);
        assert!(
            matches!(verdict(200, "<html>"), Verdict::Retry(fault) if fault.failure.kind == FailureKind::UnusableAnswer)
        );
    }

    #[test]
    fn an_error_inside_a_success_is_judged_by_its_code() {
        assert!(matches!(verdict(200, r#"{"error":{"code":502,"message":"m"}}"#), Verdict::Retry(fault)
            if fault.failure.kind == FailureKind::ServerFault));
        assert!(matches!(verdict(200, r#"{"error":{"code":"401"}}"#), Verdict::Final(failure, Reach::UntilProven)
            if failure.kind == FailureKind::Unauthorised));
        assert!(matches!(verdict(200, r#"{"error":{"code":"insufficient_quota"}}"#), Verdict::Final(_, Reach::Batch)));
        assert!(matches!(verdict(200, r#"{"error":"something broke"}"#), Verdict::Retry(fault)
            if fault.failure.message == "HTTP 200, but the body is JSON but no chat completion: something broke"));
    }
}
