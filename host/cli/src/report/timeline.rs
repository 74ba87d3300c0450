//! What an event log says: when each request was sent and how it ended, and when nothing was sent. Several runs may have
//! written to one log; they are put one after the other, as if nothing lay between them.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use anyhow::{Context, Result};
use becalm::{Admits, Rate, Unit};

use super::lines::each_line;
use crate::events::limits::LimitLine;
use crate::events::line::{EventLine, What};
use crate::terminal::words::rate_in_words;

/// All times are in milliseconds since the first event.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// Documents that were sent, in the order in which they first were.
    pub(crate) documents: Vec<Sent>,
    pub(crate) started_epoch_ms: Option<u64>,
    pub(crate) span_ms: u64,
    pub(crate) runs: u64,
    /// Documents of the last run, those included that were not sent.
    pub(crate) batch: u64,
    /// The limit of requests that was set or stated last; of several, the one of the shortest window.
    known: Option<Rate>,
    /// What was learnt last from refusals.
    pub(crate) learnt: Option<Admits>,
    /// From, until, and why.
    pub(crate) pauses: Vec<(u64, u64, String)>,
    /// Of each refusal.
    pub(crate) waits_ms: Vec<u64>,
    /// What the endpoint said when it refused, and how often.
    refusals: BTreeMap<String, u64>,
    by_id: HashMap<String, usize>,
    paused: Option<(u64, String)>,
    /// What is taken off an event's time.
    origin_ms: u64,
}

/// A document, and its tries: sent, ended, and how.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) tries: Vec<(u64, u64, &'static str)>,
}

impl Timeline {
    /// Reads a log; a torn last line is left out.
    pub(crate) fn read(file: impl BufRead) -> Result<Self> {
        let mut timeline = Self::default();
        each_line(file, |number, line| {
            match serde_json::from_slice(line) {
                Ok(line) => timeline.add(line),
                // The end of a run that was killed, with the next one's beginning after it.
                Err(_) if timeline.runs > 0 => {}
                Err(error) => return Err(error).with_context(|| format!("line {number}")),
            }
            Ok(())
        })?;
        timeline.end_run();
        Ok(timeline)
    }

    /// The limit of requests per time that held last.
    pub(crate) fn limit(&self) -> Option<Rate> {
        self.learnt.as_ref().and_then(Admits::rate).or(self.known)
    }

    /// What the endpoint said most often when it refused.
    pub(crate) fn said(&self) -> Option<&str> {
        let most = self.refusals.iter().max_by_key(|(_, count)| **count)?;
        Some(most.0)
    }

    /// Whether a document was sent.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    fn add(&mut self, line: EventLine) {
        // A log may have lost its beginning.
        if matches!(line.what, What::Started { .. }) || self.runs == 0 {
            self.start_run(line.at_epoch_ms);
        }
        let now = line.at_epoch_ms.saturating_sub(self.origin_ms);
        self.span_ms = self.span_ms.max(now);
        match line.what {
            What::Started { documents, limits, .. } => {
                self.batch = documents.unwrap_or(self.batch);
                limits.into_iter().for_each(|rate| self.know(rate.into()));
            }
            What::Summary(summary) => summary.limits.into_iter().for_each(|limit| self.hear(limit)),
            What::Learnt(limit) => self.hear(limit),
            What::Sent { id, .. } => self.tries(id).push((now, now, ON_WIRE)),
            What::Refused { id, wait_ms, message, .. } => {
                self.waits_ms.push(wait_ms);
                // Messages may have a number in each, such as how long to wait.
                if !message.is_empty() && (self.refusals.len() < MOST_MESSAGES || self.refusals.contains_key(&message))
                {
                    *self.refusals.entry(message).or_default() += 1;
                }
                self.end_try(&id, now, "refused");
            }
            What::Faulted { id, .. } => self.end_try(&id, now, "fault"),
            What::Outcome { id, outcome, .. } if outcome == "answered" => self.end_try(&id, now, "answered"),
            What::Outcome { id, outcome, .. } if outcome == "failed" => self.end_try(&id, now, "failed"),
            What::Paused { reason, limit, .. } => {
                self.end_pause(now);
                let limit = limit.map(Rate::from).filter(|rate| rate.unit == Unit::Requests);
                let limit = limit.map(|rate| format!("limit of {}", rate_in_words(&rate)));
                self.paused = Some((now, limit.unwrap_or_else(|| in_words(&reason).into())));
            }
            What::Resumed => self.end_pause(now),
            _ => {}
        }
    }

    fn hear(&mut self, limit: LimitLine) {
        let is_learnt = limit.source == "refusals";
        match Admits::from(limit.admits) {
            places @ Admits::InFlight(_) => self.learnt = Some(places),
            Admits::Rate(rate) if rate.unit != Unit::Requests => {}
            learnt @ Admits::Rate(_) if is_learnt => self.learnt = Some(learnt),
            Admits::Rate(rate) => self.know(rate),
        }
    }

    /// A limit that was set or stated.
    fn know(&mut self, rate: Rate) {
        // What is stated of one limit changes from time to time; another one has quite another window.
        if rate.unit == Unit::Requests && self.known.is_none_or(|known| rate.window <= 2 * known.window) {
            self.known = Some(rate);
        }
    }

    fn start_run(&mut self, at_epoch_ms: u64) {
        self.end_run();
        self.runs += 1;
        self.started_epoch_ms.get_or_insert(at_epoch_ms);
        self.origin_ms = at_epoch_ms.saturating_sub(self.span_ms);
    }

    /// What was on the wire when a run ended has no end of its own.
    fn end_run(&mut self) {
        let now = self.span_ms;
        self.end_pause(now);
        let open = self.documents.iter_mut().filter_map(|document| document.tries.last_mut());
        open.filter(|(.., end)| *end == ON_WIRE).for_each(|(_, ended, end)| (*ended, *end) = (now, "open"));
    }

    fn end_pause(&mut self, now: u64) {
        if let Some((since, reason)) = self.paused.take() {
            self.pauses.push((since, now, reason));
        }
    }

    fn tries(&mut self, id: String) -> &mut Vec<(u64, u64, &'static str)> {
        let index = *self.by_id.entry(id.clone()).or_insert_with(|| {
            self.documents.push(Sent { id, tries: vec![] });
            self.documents.len() - 1
        });
        &mut self.documents[index].tries
    }

    /// A try that is on the wire has ended; an outcome may also be one of a document that waits.
    fn end_try(&mut self, id: &str, now: u64, how: &'static str) {
        let index = self.by_id.get(id).copied();
        let last = index.and_then(|index| self.documents[index].tries.last_mut());
        if let Some((_, ended, end)) = last.filter(|(.., end)| *end == ON_WIRE) {
            (*ended, *end) = (now, how);
        }
    }
}

/// Why nothing was sent, where no limit says it.
fn in_words(reason: &str) -> &'static str {
    match reason {
        "pace" => "pace",
        "back-off" => "back-off after a fault",
        _ => "the endpoint asked to wait",
    }
}

const MOST_MESSAGES: usize = 1_000;
/// Of a try that has no end yet.
const ON_WIRE: &str = "on the wire";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_pauses_and_limits_are_found_and_runs_follow_each_other() {
        let lines = r#"{"event":"started","at_epoch_ms":1000,"limits":[]}
{"event":"sent","id":"a","attempt":1,"in_flight":1,"at_epoch_ms":1000}
{"event":"refused","id":"a","wait_ms":500,"message":"Rate limit reached","at_epoch_ms":1010}
{"event":"paused","until_epoch_ms":1510,"reason":"refused","limit":null,"at_epoch_ms":1010}
{"event":"resumed","at_epoch_ms":1520}
{"event":"learnt","unit":"requests","amount":10,"window_ms":60000,"source":"refusals","at_epoch_ms":1520}
{"event":"sent","id":"a","attempt":2,"in_flight":1,"at_epoch_ms":1520}
{"event":"sent","id":"b","attempt":1,"in_flight":2,"at_epoch_ms":1520}
{"event":"outcome","id":"a","outcome":"answered","attempts":2,"at_epoch_ms":1600}
{"event":"sent","id":"c","att
{"event":"started","at_epoch_ms":900000,"limits":[{"unit":"tokens","amount":5,"window_ms":60000}]}
{"event":"sent","id":"b","attempt":1,"in_flight":1,"at_epoch_ms":900100}
{"event":"faulted","id":"b","wait_ms":50,"at_epoch_ms":900200}
{"event":"sent","id":"b","attempt":2,"in_flight":1,"at_epoch_ms":900300}
{"event":"outcome","id":"b","outcome":"failed","attempts":2,"at_epoch_ms":900400}
{"event":"summary","answ"#;
        let timeline = Timeline::read(lines.as_bytes()).unwrap();
        let tries = timeline.documents.iter().map(|sent| (sent.id.as_str(), sent.tries.clone())).collect::<Vec<_>>();
        assert_eq!(
            tries,
            [
                ("a", vec![(0, 10, "refused"), (520, 600, "answered")]),
                ("b", vec![(520, 600, "open"), (700, 800, "fault"), (900, 1_000, "failed")]),
            ]
        );
        assert_eq!(timeline.pauses, [(10, 520, "the endpoint asked to wait".to_string())]);
        assert_eq!(timeline.said(), Some("Rate limit reached"));
        assert_eq!((timeline.runs, timeline.span_ms, timeline.waits_ms.as_slice()), (2, 1_000, &[500][..]));
        assert_eq!(timeline.limit().map(|rate| (rate.amount, rate.window)), Some((10, 60_000)));
        assert_eq!(timeline.learnt.and_then(|learnt| learnt.in_flight()), None, "a request in flight is no limit");
    }

    #[test]
    fn what_was_learnt_last_takes_the_place_of_what_was_learnt_before() {
        let started =
            r#"{"event":"started","at_epoch_ms":1000,"limits":[{"unit":"requests","amount":90,"window_ms":60000}]}"#;
        let rate = r#"{"event":"learnt","unit":"requests","amount":1,"window_ms":900000,"source":"refusals","cycles":1,"at_epoch_ms":1500}"#;
        let places = r#"{"event":"learnt","in_flight":3,"source":"refusals","cycles":0,"at_epoch_ms":1600}"#;
        let known = |lines: &[&str]| {
            let timeline = Timeline::read((lines.join("\n") + "\n").as_bytes()).unwrap();
            (timeline.limit().map(|rate| rate.amount), timeline.learnt.and_then(|learnt| learnt.in_flight()))
        };
        assert_eq!(known(&[started]), (Some(90), None));
        assert_eq!(known(&[started, rate]), (Some(1), None));
        assert_eq!(known(&[started, rate, places]), (Some(90), Some(3)));
        assert_eq!(known(&[started, places, rate]), (Some(1), None));
    }
}
