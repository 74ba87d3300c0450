//! The one table: what a reply, or the lack of one, means for its document. Structured codes come before words.

use alloc::format;
use alloc::string::ToString;

use crate::answer;
use crate::cdn::{self, Cdn};
use crate::error_body::ErrorBody;
use crate::failure_message::{self, failure};
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
    ConcurrencyLimited,
    /// The request was not looked at: there is no connection or no stream for it now.
    TurnedAway(Failure),
    /// Something went wrong that may not go wrong again.
    Retry(Fault),
    /// Nothing is let in, or nothing is there. At first that holds for every document; where others were answered it may
    /// pass, as when a token has expired or a route is being moved.
    Denied(Failure),
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
    /// Whether the request may have reached the endpoint.
    pub reached: bool,
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
        return of_status(reply, &ErrorBody::read(&reply.body), hint, about);
    }
    match answer::read(reply) {
        Ok(answer) => Verdict::Answered(answer),
        Err(problem) => no_answer(reply, problem, hint, about),
    }
}

fn of_status(reply: &Reply, error: &ErrorBody, hint: Option<Hint>, about: &About) -> Verdict {
    if let Some(verdict) = by_code(reply, error, hint, about) {
        return verdict;
    }
    let last = |kind, reach| Verdict::Final(failure(reply, error, kind, about), reach);
    let denied = |kind| Verdict::Denied(failure(reply, error, kind, about));
    match cdn::said(reply) {
        Some(Cdn::Limited) => return Verdict::Refused,
        Some(Cdn::Blocked) => return denied(FailureKind::Rejected),
        None => {}
    }
    match reply.status {
        429 if hint.is_none() && error.names_concurrency() => Verdict::ConcurrencyLimited,
        429 => Verdict::Refused,
        // The endpoint says when it lets everyone in again.
        403 | 413 if hint.is_some() => fault(reply, error, Reach::Batch, about),
        408 | 409 | 421 | 423..=425 | 444 | 449 | 460 | 498 | 499 | 500 | 502..=504 | 506..=599 => {
            fault(reply, error, Reach::Document, about)
        }
        401 => denied(FailureKind::Unauthorised),
        402 => last(FailureKind::OutOfCredit, Reach::Batch),
        // Whatever the status means here: it comes with the time of the next try.
        400..=499 if hint.is_some() => fault(reply, error, Reach::Document, about),
        403 => denied(FailureKind::Unauthorised),
        404 if error.is_bare() => denied(FailureKind::NotFound),
        404 => last(FailureKind::NotFound, Reach::UntilProven),
        405 | 410 => last(FailureKind::NotFound, Reach::Document),
        413 => last(FailureKind::TooLarge, Reach::Document),
        300..=399 | 407 | 412 | 415 => last(FailureKind::Rejected, Reach::UntilProven),
        _ => last(FailureKind::Rejected, Reach::Document),
    }
}

/// Where a code says more than the status, and where words do.
fn by_code(reply: &Reply, error: &ErrorBody, hint: Option<Hint>, about: &About) -> Option<Verdict> {
    let last = |kind, reach| Some(Verdict::Final(failure(reply, error, kind, about), reach));
    let is_refusal = reply.status == 429;
    if is_out_of_credit(reply, error, hint) {
        return last(FailureKind::OutOfCredit, Reach::Batch);
    }
    if is_refusal && error.asks_too_much() || error.names(&TOO_LARGE) || is_too_long(reply, error) {
        return last(FailureKind::TooLarge, Reach::Document);
    }
    if error.names(&WRONG_KEY) {
        return Some(Verdict::Denied(failure(reply, error, FailureKind::Unauthorised, about)));
    }
    if error.names(&failure_message::MODEL) {
        return last(FailureKind::NotFound, Reach::UntilProven);
    }
    if error.names(&FILTERED) {
        return last(FailureKind::Rejected, Reach::Document);
    }
    let has_meaning = matches!(reply.status, 401..=404 | 407 | 413 | 429);
    match reply.headers.first("x-should-retry") {
        Some("false") if !has_meaning => return last(FailureKind::Rejected, Reach::Document),
        Some("true") if !is_refusal => return Some(fault(reply, error, Reach::Document, about)),
        _ => {}
    }
    // The request was valid JSON, so a server that denies it did not get all of it.
    let denies_json = reply.status == 400 && DENIES_JSON.iter().any(|words| error.message.contains(words));
    (error.names(&OVERLOADED) && !is_refusal || denies_json).then(|| fault(reply, error, Reach::Document, about))
}

/// By its codes, by a limit of nothing, and last by words: those count only where the endpoint names no time at which it
/// would go on, because offers to buy more come with ordinary limits too.
fn is_out_of_credit(reply: &Reply, error: &ErrorBody, hint: Option<Hint>) -> bool {
    let is_refusal = reply.status == 429;
    error.names(&OUT_OF_CREDIT)
        || is_refusal && (error.is_daily || error.allows_nothing())
        || matches!(reply.status, 400 | 403 | 429) && hint.is_none() && error.says(&NO_CREDIT)
}

/// The words of OpenAI, Azure, Anthropic, Gemini and vLLM for a request that is larger than the model's context.
fn is_too_long(reply: &Reply, error: &ErrorBody) -> bool {
    matches!(reply.status, 400 | 413 | 422) && error.says(&TOO_LONG)
}

/// A success without an answer. Some endpoints wrap an error in it: then that is judged, by its code or by the status
/// that its code stands for.
fn no_answer(reply: &Reply, problem: &str, hint: Option<Hint>, about: &About) -> Verdict {
    let error = answer::value(&reply.body).map_or_else(|| ErrorBody::read(&reply.body), |value| ErrorBody::of(&value));
    if error.names(&RATE) {
        return Verdict::Refused;
    }
    if let Some(status) = error.status() {
        return of_status(&Reply { status, ..reply.clone() }, &error, hint, about);
    }
    if let Some(verdict) = by_code(reply, &error, hint, about) {
        return verdict;
    }
    let failure = failure(reply, &error, FailureKind::UnusableAnswer, about);
    let message = match error.message.is_empty() {
        true => format!("HTTP {}, but {problem}", reply.status),
        false => format!("HTTP {}, but {problem}: {}", reply.status, error.message),
    };
    let failure = Failure { message, ..failure };
    Verdict::Retry(Fault { failure, reach: Reach::Document, reached: true, is_overload: false, is_cold_start: false })
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
    if error == TransportError::ConnectionLimitReached {
        return Verdict::TurnedAway(failure);
    }
    match (error.is_worth_retrying(), error.concerns_endpoint()) {
        (true, concerns_endpoint) => Verdict::Retry(Fault {
            failure,
            reach: if concerns_endpoint { Reach::UntilProven } else { Reach::Document },
            reached: error.comes_after_sending(),
            is_overload: error.is_timeout(),
            is_cold_start: false,
        }),
        (false, true) => Verdict::Final(failure, Reach::Batch),
        (false, false) => Verdict::Final(failure, Reach::Document),
    }
}

fn fault(reply: &Reply, error: &ErrorBody, reach: Reach, about: &About) -> Verdict {
    let is_overload = matches!(reply.status, 503 | 529) || error.names(&OVERLOADED);
    let failure = failure(reply, error, FailureKind::ServerFault, about);
    let is_cold_start = reply.status == 503;
    Verdict::Retry(Fault { failure, reach, reached: true, is_overload, is_cold_start })
}

/// Codes that say so whatever the status.
const OUT_OF_CREDIT: [&str; 8] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "credit_balance_too_low",
    "exceeded_current_quota_error",
    "insufficient_balance",
    "insufficient_credits",
    "billing_not_active",
    // Zhipu: the balance is used up.
    "1113",
];
const NO_CREDIT: [&str; 10] = [
    "insufficient balance",
    "insufficient credit",
    "insufficient funds",
    "not enough credit",
    "out of credit",
    "no credits",
    "credit balance",
    "spending limit",
    "free allocation",
    "recharge",
];
const TOO_LONG: [&str; 8] = [
    "maximum context length",
    "context window",
    "prompt is too long",
    "input is too long",
    "input token count",
    "exceeds the maximum number of tokens",
    "longer than the maximum model length",
    "request too large",
];
/// A document's own fault, under whatever status.
const FILTERED: [&str; 3] = ["content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"];
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
            assert!(matches!(judge(&reply, None, &About::default()), Verdict::Final(..) | Verdict::Denied(_)));
        }
        let reply = Reply { status: 503, ..Reply::default() };
        assert!(matches!(judge(&reply, Some(hint), &About::default()), Verdict::Retry(fault) if fault.is_overload));
    }

    #[test]
    fn no_credit_is_told_from_a_rate_by_codes_first_and_words_second() {
        let is_final = |body: &str, hint| {
            let reply = Reply { status: 429, body: body.into(), ..Reply::default() };
            matches!(judge(&reply, hint, &About::default()), Verdict::Final(failure, Reach::Batch)
                if failure.kind == FailureKind::OutOfCredit)
        };
        let hint = Some(Hint { wait: Delay::from_secs(5), source: "retry-after" });
        assert!(is_final(r#"{"error":{"code":"1113","message":"m"}}"#, hint));
        assert!(is_final(r#"{"error":{"type":"exceeded_current_quota_error"}}"#, None));
        assert!(is_final(r#"{"error":{"message":"Insufficient balance. Please recharge."}}"#, None));
        assert!(is_final(r#"{"error":{"message":"Quota exceeded for metric: m, limit: 0"}}"#, hint));
        assert!(!is_final(r#"{"error":{"message":"Quota exceeded for metric: m, limit: 0.5"}}"#, hint));
        assert!(!is_final(r#"{"error":{"message":"Quota exceeded for metric: m, limit: 50"}}"#, hint));
        assert!(!is_final(r#"{"error":{"message":"Rate limit reached. No credits are needed to wait."}}"#, hint));
    }

    #[test]
    fn a_request_that_is_too_large_is_known_in_the_words_of_many() {
        for message in [
            "prompt is too long: 208310 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens, however you requested 10000 tokens.",
            "The input token count (1048600) exceeds the maximum number of tokens allowed (1048576).",
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        ] {
            let body = format!(r#"{{"error":{{"message":"{message}"}}}}"#);
            assert!(
                matches!(verdict(400, &body), Verdict::Final(failure, Reach::Document)
                if failure.kind == FailureKind::TooLarge),
                "{message}"
            );
        }
    }

    #[test]
    fn states_that_pass_are_tried_again_whatever_their_code() {
        for status in [408, 409, 421, 423, 424, 425, 444, 449, 460, 498, 499, 500, 520, 529, 530] {
            assert!(matches!(verdict(status, ""), Verdict::Retry(_)), "{status}");
        }
        let reply = Reply { status: 422, ..Reply::default() };
        let hint = Hint { wait: Delay::from_secs(5), source: "retry-after" };
        assert!(matches!(judge(&reply, Some(hint), &About::default()), Verdict::Retry(_)));
        assert!(matches!(judge(&reply, None, &About::default()), Verdict::Final(..)));
    }

    #[test]
    fn a_word_about_retrying_changes_no_status_that_says_it_all() {
        let judged = |status| {
            let headers = [("x-should-retry", "false")].into_iter().collect();
            judge(&Reply { status, headers, ..Reply::default() }, None, &About::default())
        };
        assert!(matches!(judged(401), Verdict::Denied(_)));
        assert_eq!(judged(429), Verdict::Refused);
        assert!(matches!(judged(500), Verdict::Final(_, Reach::Document)));
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
        assert!(matches!(verdict(200, r#"{"error":{"code":"401"}}"#), Verdict::Denied(failure)
            if failure.kind == FailureKind::Unauthorised));
        assert!(matches!(verdict(200, r#"{"error":{"code":"insufficient_quota"}}"#), Verdict::Final(_, Reach::Batch)));
        assert!(matches!(verdict(200, r#"{"error":"something broke"}"#), Verdict::Retry(fault)
            if fault.failure.message == "HTTP 200, but the endpoint reports an error: something broke"));
    }
}
