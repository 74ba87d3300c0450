//! What the policy says, in the words of the contract.

use becalm_policy as policy;
use policy::{Delay, Now, Tick};

use crate::bindings::exports::becalm::batch::analyzer::{
    Admits, Answer, Failure, FailureKind, Fault, Header, IgnoredHint, Limit, LimitSource, Outcome, Pause, PauseReason,
    PostponeReason, Postponement, Rate, Refusal, Unit, Usage, Verdict,
};

/// The outcome of a document that cannot be made into a request.
pub(crate) fn invalid(id: String, message: &str) -> Outcome {
    let kind = FailureKind::InvalidDocument;
    let failure = Failure { kind, message: message.into(), status: None, request_id: None, body: None };
    Outcome { id, verdict: Verdict::Failed(failure), attempts: 0, refusals: 0, waited: 0 }
}

pub(crate) fn outcome(id: String, outcome: policy::Outcome, now: Now) -> Outcome {
    let verdict = match outcome.ending {
        policy::Ending::Answered(answer) => Verdict::Answered(self::answer(answer)),
        policy::Ending::Failed(failure) => Verdict::Failed(self::failure(failure)),
        policy::Ending::Postponed(postponement) => Verdict::Postponed(self::postponement(postponement, now)),
    };
    Outcome { id, verdict, attempts: outcome.attempts, refusals: outcome.refusals, waited: outcome.waited.as_ms() }
}

fn answer(answer: policy::Answer) -> Answer {
    let usage = answer
        .usage
        .map(|usage| Usage { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens });
    Answer {
        text: answer.text,
        finish_reason: answer.finish_reason,
        note: answer.note,
        usage,
        status: answer.status,
        request_id: answer.request_id,
        body: answer.body,
    }
}

pub(crate) fn failure(failure: policy::Failure) -> Failure {
    let kind = match failure.kind {
        policy::FailureKind::Rejected => FailureKind::Rejected,
        policy::FailureKind::Unauthorised => FailureKind::Unauthorised,
        policy::FailureKind::NotFound => FailureKind::NotFound,
        policy::FailureKind::TooLarge => FailureKind::TooLarge,
        policy::FailureKind::OutOfCredit => FailureKind::OutOfCredit,
        policy::FailureKind::Unreachable => FailureKind::Unreachable,
        policy::FailureKind::ServerFault => FailureKind::ServerFault,
        policy::FailureKind::UnusableAnswer => FailureKind::UnusableAnswer,
    };
    Failure {
        kind,
        message: failure.message,
        status: failure.status,
        request_id: failure.request_id,
        body: failure.body,
    }
}

fn postponement(postponement: policy::Postponement, now: Now) -> Postponement {
    let reason = match postponement.reason {
        policy::PostponeReason::Patience => PostponeReason::Patience,
        policy::PostponeReason::Stopped => PostponeReason::Stopped,
        policy::PostponeReason::Halted => PostponeReason::Halted,
    };
    let until = postponement.until.map(|until| now.epoch_at(until).as_ms());
    Postponement { reason, until, message: postponement.message }
}

pub(crate) fn pause(pause: policy::Pause, now: Now) -> Pause {
    let reason = match pause.reason {
        policy::PauseReason::Refused => PauseReason::Refused,
        policy::PauseReason::Limit => PauseReason::Limit,
        policy::PauseReason::Pace => PauseReason::Pace,
        policy::PauseReason::BackOff => PauseReason::BackOff,
    };
    Pause { until: epoch(pause.until, now), reason, limit: pause.limit.map(rate) }
}

pub(crate) fn limit(limit: policy::Limit) -> Limit {
    let admits = match limit.admits {
        policy::Admits::Rate(rate) => Admits::Rate(self::rate(rate)),
        policy::Admits::InFlight(requests) => Admits::InFlight(requests),
    };
    let source = match limit.source {
        policy::LimitSource::Settings => LimitSource::Settings,
        policy::LimitSource::Headers => LimitSource::Headers,
        policy::LimitSource::Refusals => LimitSource::Refusals,
    };
    Limit { admits, source, cycles: limit.cycles }
}

fn rate(rate: policy::Rate) -> Rate {
    let unit = match rate.unit {
        policy::Unit::Requests => Unit::Requests,
        policy::Unit::Tokens => Unit::Tokens,
    };
    Rate { unit, amount: rate.amount, window: rate.window.as_ms() }
}

pub(crate) fn refusal(id: String, refusal: &policy::Refusal) -> Refusal {
    let headers = refusal.headers.iter().map(|(name, value)| Header { name: name.into(), value: value.into() });
    Refusal {
        id,
        status: refusal.status,
        wait: Delay::as_ms(refusal.wait),
        jitter: Delay::as_ms(refusal.jitter),
        source: refusal.source.into(),
        message: refusal.message.clone(),
        headers: headers.collect(),
    }
}

pub(crate) fn fault(id: String, trouble: policy::Trouble) -> Fault {
    Fault {
        id,
        status: trouble.failure.status,
        reached: trouble.reached,
        message: trouble.failure.message,
        wait: Delay::as_ms(trouble.wait),
        jitter: Delay::as_ms(trouble.jitter),
        source: trouble.source.into(),
    }
}

pub(crate) fn ignored_hint(ignored: policy::IgnoredHint) -> IgnoredHint {
    IgnoredHint { name: ignored.name.into(), value: ignored.value }
}

fn epoch(at: Tick, now: Now) -> u64 {
    now.epoch_at(at).as_ms()
}
