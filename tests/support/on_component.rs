//! Plays a scenario with the real component in virtual time.

use std::sync::Arc;
use std::time::Duration;

use becalm::{Access, Admits, Document, Event, Happening, Limit, Rate, Settings, Unit, Verdict};

use super::endpoint::Endpoint;
use super::scenario::{Line, Scenario, Told, name};
use super::{EPOCH, SANDBOX};

pub(crate) async fn play(scenario: &Scenario) -> Vec<Line> {
    let settings = settings(&scenario.settings);
    let access = Access::new(&settings.endpoint.base_url, None).unwrap();
    let mut session = SANDBOX.open(settings, access, Arc::new(Endpoint::of(scenario))).await.unwrap();
    let bodies = scenario.documents.bodies().into_iter().enumerate();
    let documents = bodies.map(|(n, (body, _))| Document::request((n + 1).to_string(), body)).collect();
    session.submit(documents).await.unwrap();
    let mut lines = vec![];
    while !session.is_done().await.unwrap() {
        let events = session.next(Duration::from_secs(100_000)).await.unwrap();
        lines.extend(events.into_iter().filter_map(|event| line(event, EPOCH * 1_000)));
    }
    lines
}

fn settings(told: &Told) -> Settings {
    let mut settings = Settings::default();
    settings.endpoint.base_url = told.base_url().into();
    settings.chat.model = told.model.clone().unwrap_or_default();
    settings.seed = Some(told.seed.unwrap_or(1));
    settings.trace = true;
    let limits = &mut settings.limits;
    limits.max_in_flight = told.max_in_flight.unwrap_or(limits.max_in_flight);
    limits.pace = told.pace_ms.unwrap_or(limits.pace);
    limits.rates = told
        .rates
        .iter()
        .map(|rate| {
            let unit = if rate.tokens.is_some() { Unit::Tokens } else { Unit::Requests };
            Rate { unit, amount: rate.tokens.or(rate.requests).unwrap(), window: rate.window_ms }
        })
        .collect();
    let retry = &mut settings.retry;
    retry.max_attempts = told.max_attempts.unwrap_or(retry.max_attempts);
    retry.jitter = told.jitter_ms.unwrap_or(0);
    retry.patience = told.patience_ms.unwrap_or(retry.patience);
    retry.fallback_wait = told.fallback_wait_ms;
    settings.timeouts.whole_request = told.whole_request_ms.unwrap_or(settings.timeouts.whole_request);
    settings
}

/// What a timeline says of this event, if anything; it begins at that instant.
pub(crate) fn line(event: Event, epoch_ms: u64) -> Option<Line> {
    let (what, detail) = match event.what {
        Happening::Sent(sent) => {
            (format!("sent {}", sent.id), format!("attempt {}, {} in flight", sent.attempt, sent.in_flight))
        }
        Happening::Refused(refused) => {
            let detail = format!("{} {} {} {}", refused.status, refused.wait, refused.jitter, refused.message);
            (format!("refused {} by {}", refused.id, refused.source), detail)
        }
        Happening::Faulted(fault) => {
            let detail = format!("{} {:?} {} {}", fault.message, fault.status, fault.wait, fault.jitter);
            (format!("faulted {} by {}", fault.id, fault.source), detail)
        }
        Happening::HintIgnored(hint) => (format!("ignored {}", hint.name), hint.value),
        Happening::Learnt(Limit { admits, source, cycles }) => {
            let admits = match admits {
                Admits::Rate(Rate { unit, amount, window }) => format!("{amount} {} per {window} ms", name(unit)),
                Admits::InFlight(requests) => format!("{requests} in flight"),
            };
            (format!("learnt {admits} from {}", name(source)), format!("{cycles} cycles"))
        }
        Happening::Halted(failure) => (format!("halted {}", name(failure.kind)), failure.message),
        Happening::Outcome(outcome) => {
            let tries = format!("{} {} {}", outcome.attempts, outcome.refusals, outcome.waited);
            let (what, detail) = match outcome.verdict {
                Verdict::Answered(answer) => (
                    String::from("answered"),
                    format!("{:?} {:?} {:?} {:?}", answer.text, answer.note, answer.finish_reason, answer.request_id),
                ),
                Verdict::Failed(failure) => {
                    (format!("failed {}", name(failure.kind)), format!("{} {:?}", failure.message, failure.status))
                }
                Verdict::Postponed(postponement) => {
                    let until = postponement.until.map(|until| until - epoch_ms);
                    (format!("postponed {}", name(postponement.reason)), format!("{} {until:?}", postponement.message))
                }
            };
            let (first, rest) = what.split_once(' ').unwrap_or((&what, ""));
            (format!("{first} {} {rest}", outcome.id).trim_end().into(), format!("{detail} {tries}"))
        }
        Happening::Paused(_) | Happening::Resumed => return None,
    };
    Some(Line { at_ms: event.at - epoch_ms, what, detail })
}
