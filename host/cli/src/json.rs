//! The same for machines: an event per line, and the figures at the end.

use becalm::{
    Admits, Event, Failure, Happening, Header, Limit, LimitSource, PauseReason, Rate, Settings, Unit, Verdict,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::Earlier;
use super::masked;
use super::stop::Reason;
use super::summary::{Summary, efficiency};
use super::values::milliseconds;

/// An event as JSON. Answers are in the output; here only their names.
pub(crate) fn event(event: &Event) -> Value {
    let (name, mut value) = happening(&event.what);
    value["event"] = json!(name);
    value["at_epoch_ms"] = json!(event.at);
    value
}

/// The beginning of a run as JSON.
pub(crate) fn started(documents: u64, earlier: &Earlier, settings: &Settings) -> Value {
    json!({
        "event": "started",
        "at_epoch_ms": Timestamp::now().as_millisecond(),
        "documents": documents,
        "answered_before": earlier.answered,
        "failed_before": earlier.failed,
        "max_in_flight": settings.limits.max_in_flight,
        "limits": settings.limits.rates.iter().map(rate).collect::<Vec<_>>(),
    })
}

/// Something odd as JSON.
pub(crate) fn warning(message: &str) -> Value {
    json!({"event": "warning", "at_epoch_ms": Timestamp::now().as_millisecond(), "message": message})
}

/// The figures of a run as JSON.
pub(crate) fn summary(summary: &Summary) -> Value {
    let figures = summary.figures;
    let jitter = figures.jitter();
    let spent = summary.spending.spent();
    json!({
        "event": "summary",
        "at_epoch_ms": Timestamp::now().as_millisecond(),
        "answered": figures.answered,
        "failed": figures.failed,
        "postponed": figures.postponed,
        "answered_before": summary.earlier.answered,
        "failed_before": summary.earlier.failed,
        "not_sent": summary.left,
        "refusals": figures.refusals(),
        "recovered": figures.recovered,
        "wait_p50_ms": figures.wait(50).map(milliseconds),
        "wait_p95_ms": figures.wait(95).map(milliseconds),
        "jitter_least_ms": jitter.map(|(least, _)| milliseconds(least)),
        "jitter_most_ms": jitter.map(|(_, most)| milliseconds(most)),
        "elapsed_ms": milliseconds(summary.elapsed),
        "bound_ms": milliseconds(summary.bound),
        "efficiency": efficiency(summary.bound, summary.elapsed),
        "bound_is_learnt": summary.is_bound_learnt,
        "limits": summary.limits.iter().map(limit).collect::<Vec<_>>(),
        "tokens_in": spent.input as u64,
        "tokens_out": spent.output as u64,
        "cost": summary.spending.cost(),
        "stopped": summary.stopped.map(reason),
        "halted": figures.halted.as_ref().map(failure),
        "until_epoch_ms": figures.until_epoch_ms,
    })
}

/// Why a batch ended early.
pub(crate) const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Asked => "asked",
        Reason::Deadline => "deadline",
        Reason::Budget => "budget",
    }
}

fn happening(what: &Happening) -> (&'static str, Value) {
    match what {
        Happening::Outcome(outcome) => {
            let verdict = match &outcome.verdict {
                Verdict::Answered(_) => "answered",
                Verdict::Failed(_) => "failed",
                Verdict::Postponed(_) => "postponed",
            };
            let Verdict::Failed(failed) = &outcome.verdict else {
                return ("outcome", json!({"id": outcome.id, "outcome": verdict, "attempts": outcome.attempts}));
            };
            (
                "outcome",
                json!({"id": outcome.id, "outcome": verdict, "attempts": outcome.attempts, "failure": failure(failed)}),
            )
        }
        Happening::Paused(pause) => {
            let reason = match pause.reason {
                PauseReason::Refused => "refused",
                PauseReason::Limit => "limit",
                PauseReason::Pace => "pace",
                PauseReason::BackOff => "back-off",
            };
            (
                "paused",
                json!({"until_epoch_ms": pause.until, "reason": reason, "limit": pause.limit.as_ref().map(rate)}),
            )
        }
        Happening::Resumed => ("resumed", json!({})),
        Happening::Learnt(learnt) => ("learnt", limit(learnt)),
        Happening::HintIgnored(ignored) => ("hint-ignored", json!({"name": ignored.name, "value": ignored.value})),
        Happening::Refused(refusal) => (
            "refused",
            json!({
                "id": refusal.id,
                "status": refusal.status,
                "wait_ms": refusal.wait,
                "jitter_ms": refusal.jitter,
                "source": refusal.source,
                "message": refusal.message,
                "headers": refusal.headers.iter().map(header).collect::<Vec<_>>(),
            }),
        ),
        Happening::Faulted(fault) => (
            "faulted",
            json!({
                "id": fault.id,
                "status": fault.status,
                "message": fault.message,
                "wait_ms": fault.wait,
                "jitter_ms": fault.jitter,
                "source": fault.source,
            }),
        ),
        Happening::Sent(sent) => ("sent", json!({"id": sent.id, "attempt": sent.attempt, "in_flight": sent.in_flight})),
        Happening::Halted(failed) => ("halted", failure(failed)),
    }
}

fn failure(failure: &Failure) -> Value {
    json!({"message": failure.message, "status": failure.status})
}

fn limit(limit: &Limit) -> Value {
    let source = match limit.source {
        LimitSource::Settings => "settings",
        LimitSource::Headers => "headers",
        LimitSource::Refusals => "refusals",
    };
    let mut value = admits(&limit.admits);
    value["source"] = json!(source);
    value["cycles"] = json!(limit.cycles);
    value
}

/// What an endpoint admits, as JSON.
pub(crate) fn admits(admits: &Admits) -> Value {
    match admits {
        Admits::Rate(rate) => self::rate(rate),
        Admits::InFlight(requests) => json!({"in_flight": requests}),
    }
}

/// A limit of so much per window as JSON.
pub(crate) fn rate(rate: &Rate) -> Value {
    let unit = match rate.unit {
        Unit::Requests => "requests",
        Unit::Tokens => "tokens",
    };
    json!({"unit": unit, "amount": rate.amount, "window_ms": rate.window})
}

/// Logs are shown around: what may be secret is masked, as it is on the terminal.
fn header(header: &Header) -> [&str; 2] {
    let is_secret = masked::is_secret(&header.name.to_ascii_lowercase());
    [&header.name, if is_secret { "…" } else { &header.value }]
}
