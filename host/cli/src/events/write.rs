//! Lines of what happens.

use becalm::{Event, Failure, Happening, Header, Limit, LimitSource, Pause, PauseReason, Settings, Verdict};
use jiff::Timestamp;

use crate::batch::earlier::Earlier;
use crate::batch::stop::Reason;
use crate::events::limits::LimitLine;
use crate::events::line::{EventLine, FailureLine, SummaryLine, What};
use crate::terminal::header_mask;
use crate::terminal::summary::{Summary, efficiency};
use crate::terminal::words::milliseconds;

/// An event of the session.
pub(crate) fn event(event: &Event) -> EventLine {
    EventLine { what: what(&event.what), at_epoch_ms: event.at }
}

/// The beginning of a run.
pub(crate) fn started(documents: u64, earlier: &Earlier, settings: &Settings) -> EventLine {
    now(What::Started {
        documents: Some(documents),
        answered_before: earlier.answered,
        failed_before: earlier.failed,
        max_in_flight: settings.limits.max_in_flight,
        limits: settings.limits.rates.iter().copied().map(Into::into).collect(),
    })
}

/// Something odd.
pub(crate) fn warning(message: &str) -> EventLine {
    now(What::Warning { message: message.into() })
}

/// The figures of a run.
pub(crate) fn summary(summary: &Summary) -> EventLine {
    let figures = summary.figures;
    let jitter = figures.jitter();
    let spent = summary.spending.spent();
    let [cut_off, empty, refused_by_model] = figures.shortfalls;
    now(What::Summary(Box::new(SummaryLine {
        answered: figures.answered,
        failed: figures.failed,
        postponed: figures.postponed,
        answered_before: summary.earlier.answered,
        failed_before: summary.earlier.failed,
        not_sent: summary.left,
        refusals: figures.refusals(),
        cut_off,
        empty,
        refused_by_model,
        recovered: figures.recovered,
        wait_p50_ms: figures.wait(50).map(milliseconds),
        wait_p95_ms: figures.wait(95).map(milliseconds),
        jitter_least_ms: jitter.map(|(least, _)| milliseconds(least)),
        jitter_most_ms: jitter.map(|(_, most)| milliseconds(most)),
        elapsed_ms: milliseconds(summary.elapsed),
        bound_ms: milliseconds(summary.bound),
        efficiency: efficiency(summary.bound, summary.elapsed),
        bound_is_learnt: summary.is_bound_learnt,
        limits: summary.limits.iter().map(limit).collect(),
        tokens_in: spent.input as u64,
        tokens_out: spent.output as u64,
        cost: summary.spending.cost(),
        stopped: summary.stopped.map(|reason| self::reason(reason).into()),
        halted: figures.halted.as_ref().map(failure),
        until_epoch_ms: figures.until_epoch_ms,
    })))
}

/// Why a batch ended early.
pub(crate) const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Interrupted => "asked",
        Reason::Deadline => "deadline",
        Reason::Budget => "budget",
    }
}

fn now(what: What) -> EventLine {
    EventLine { what, at_epoch_ms: u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0) }
}

fn what(what: &Happening) -> What {
    match what {
        Happening::Outcome(outcome) => {
            let (name, failed) = match &outcome.verdict {
                Verdict::Answered(_) => ("answered", None),
                Verdict::Failed(failed) => ("failed", Some(failure(failed))),
                Verdict::Postponed(_) => ("postponed", None),
            };
            What::Outcome { id: outcome.id.clone(), outcome: name.into(), attempts: outcome.attempts, failure: failed }
        }
        Happening::Paused(pause) => paused(pause),
        Happening::Resumed => What::Resumed,
        Happening::Learnt(learnt) => What::Learnt(limit(learnt)),
        Happening::HintIgnored(ignored) => {
            What::HintIgnored { name: ignored.name.clone(), value: ignored.value.clone() }
        }
        Happening::Refused(refusal) => What::Refused {
            id: refusal.id.clone(),
            status: refusal.status,
            wait_ms: refusal.wait,
            jitter_ms: refusal.jitter,
            source: refusal.source.clone(),
            message: refusal.message.clone(),
            headers: refusal.headers.iter().map(header).collect(),
        },
        Happening::Faulted(fault) => What::Faulted {
            id: fault.id.clone(),
            status: fault.status,
            reached: fault.reached,
            message: fault.message.clone(),
            wait_ms: fault.wait,
            jitter_ms: fault.jitter,
            source: fault.source.clone(),
        },
        Happening::Sent(sent) => What::Sent { id: sent.id.clone(), attempt: sent.attempt, in_flight: sent.in_flight },
        Happening::Halted(failed) => What::Halted(failure(failed)),
    }
}

fn paused(pause: &Pause) -> What {
    let reason = match pause.reason {
        PauseReason::Refused => "refused",
        PauseReason::Limit => "limit",
        PauseReason::Pace => "pace",
        PauseReason::BackOff => "back-off",
    };
    What::Paused { until_epoch_ms: pause.until, reason: reason.into(), limit: pause.limit.map(Into::into) }
}

fn failure(failure: &Failure) -> FailureLine {
    FailureLine { message: failure.message.clone(), status: failure.status }
}

fn limit(limit: &Limit) -> LimitLine {
    let source = match limit.source {
        LimitSource::Settings => "settings",
        LimitSource::Headers => "headers",
        LimitSource::Refusals => "refusals",
    };
    LimitLine { admits: limit.admits.into(), source: source.into(), cycles: limit.cycles }
}

/// Logs are shown around: what may be secret is masked, as it is on the terminal.
fn header(header: &Header) -> [String; 2] {
    let is_secret = header_mask::is_secret(&header.name.to_ascii_lowercase());
    [header.name.clone(), if is_secret { "…".into() } else { header.value.clone() }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for line in [
            started(3, &Earlier::default(), &Settings::default().with_limit(10, std::time::Duration::from_secs(60))),
            warning("odd"),
            now(What::Learnt(LimitLine {
                admits: becalm::Admits::InFlight(3).into(),
                source: "refusals".into(),
                cycles: 2,
            })),
            now(What::Resumed),
            now(What::Halted(FailureLine { message: "m".into(), status: Some(401) })),
            now(What::Summary(Box::default())),
        ] {
            let written = serde_json::to_string(&line).unwrap();
            let read = serde_json::from_str::<EventLine>(&written).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), written);
            assert!(!matches!(read.what, What::Unknown), "{written}");
        }
        let unknown = serde_json::from_str::<EventLine>(r#"{"event":"later","n":1,"at_epoch_ms":5}"#).unwrap();
        assert!(matches!(unknown, EventLine { what: What::Unknown, at_epoch_ms: 5 }));
    }
}
