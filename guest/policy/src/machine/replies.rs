//! What happened on the wire, and what follows from it.

use super::Machine;
use super::action::{Action, DocumentKey, News};
use super::progress::Flight;
use super::refusals::Refused;
use crate::hints::{Hint, Hints};
use crate::learner::Learner;
use crate::outcome::{Answer, Ending, Failure};
use crate::reply::Reply;
use crate::settings::LARGEST_COUNT;
use crate::time::{Now, Tick};
use crate::transport::TransportError;
use crate::verdict::{self, Fault, Reach, Verdict};

impl Machine {
    /// The request of this document was answered.
    pub fn handle_reply(&mut self, document: DocumentKey, reply: &Reply, now: Now) {
        let Some(flight) = self.take_off_wire(document) else { return };
        let mut hints = Hints::read(reply, now.epoch);
        // Zero and the past are no hints: nothing may make us faster than our own back-off.
        hints.wait = hints.wait.filter(|hint| !hint.wait.is_zero());
        let hint = hints.wait;
        let verdict = verdict::judge(reply, hint, &self.settings.about);
        if matches!(verdict, Verdict::Refused | Verdict::ConcurrencyLimited) {
            // Before its headers are read, which do not count it.
            self.limiter.was_refused(flight.sent.ticket);
        }
        self.note_hints(&hints, flight, now.tick);
        match verdict {
            Verdict::Refused | Verdict::ConcurrencyLimited => {
                let names_places = verdict == Verdict::ConcurrencyLimited;
                self.refused(Refused { document, flight, reply, hint, names_places }, now.tick);
            }
            verdict => self.settle(document, flight, verdict, hint, now),
        }
    }

    /// The request of this document ended without an answer.
    pub fn handle_transport_error(&mut self, document: DocumentKey, error: TransportError, now: Now) {
        let Some(flight) = self.take_off_wire(document) else { return };
        self.settle(document, flight, verdict::judge_transport(error), None, now);
    }

    /// Requests that took too long are faults.
    pub(super) fn abort_overdue(&mut self, now: Now) {
        while let Some((_, document)) = self.in_flight.first().copied().filter(|(at, _)| *at <= now.tick) {
            self.decided.push_back(Action::Abort { document });
            self.handle_transport_error(document, TransportError::WholeRequestTimeout, now);
        }
    }

    /// The request is off the wire.
    fn take_off_wire(&mut self, document: DocumentKey) -> Option<Flight> {
        let flight = self.documents.get(document.0)?.flight()?;
        self.in_flight.remove(&(flight.overdue_at, document));
        Some(flight)
    }

    fn note_hints(&mut self, hints: &Hints, flight: Flight, now: Tick) {
        for ignored in &hints.ignored {
            if self.ignored.insert(ignored.name) {
                self.decided.push_back(Action::Tell(News::HintIgnored(ignored.clone())));
            }
        }
        for rate in &hints.rates {
            self.limiter.state(*rate, now);
        }
        for budget in &hints.budgets {
            self.limiter.observe(budget, flight.sent.ticket, now);
        }
        self.tell_stated();
    }

    fn settle(&mut self, document: DocumentKey, flight: Flight, verdict: Verdict, hint: Option<Hint>, now: Now) {
        match verdict {
            Verdict::Answered(answer) => self.answered(document, flight, answer, now.tick),
            Verdict::Retry(fault) => self.fault(document, flight, fault, hint, now.tick),
            Verdict::Final(failure, reach) => {
                self.learner.withdrawn(flight.sent, now.tick);
                self.gate.inconclusive(flight.episode);
                self.halt_if(reach, &failure);
                self.halt_if_setting(&failure);
                self.fail(document, failure);
            }
            Verdict::TurnedAway(failure) => self.turned_away(document, flight, failure, now.tick),
            Verdict::Denied(failure) => self.denied(document, flight, failure, hint, now.tick),
            // Only a reply can be a refusal, and then it is handled as one.
            Verdict::Refused | Verdict::ConcurrencyLimited => {}
        }
    }

    /// No way in. Before the first answer, that holds for all; later it may pass, unless it comes again and again.
    fn denied(&mut self, document: DocumentKey, flight: Flight, failure: Failure, hint: Option<Hint>, now: Tick) {
        self.denials += 1;
        if self.answered_at.is_none() || self.denials >= MOST_DENIALS {
            self.halt_if(Reach::Batch, &failure);
        }
        if self.answered_at.is_none() {
            self.learner.withdrawn(flight.sent, now);
            self.gate.inconclusive(flight.episode);
            return self.fail(document, failure);
        }
        let fault = Fault { failure, reach: Reach::Document, reached: true, is_overload: false, is_cold_start: false };
        self.fault(document, flight, fault, hint, now);
    }

    fn answered(&mut self, document: DocumentKey, flight: Flight, answer: Answer, now: Tick) {
        self.fruitless_since = None;
        self.denials = 0;
        self.last_words.clear();
        self.answered_at = Some(now);
        self.answered_sent_at = self.answered_sent_at.max(Some(flight.sent.at));
        self.largest_answered = self.largest_answered.max(self.documents[document.0].tokens);
        self.gate.answered(flight.episode, flight.sent.at);
        self.retry_budget.answered();
        self.allowance.answered();
        self.learner.admitted(flight.sent, now);
        let tokens = answer.usage.map(|usage| usage.prompt_tokens.saturating_add(usage.completion_tokens));
        let tokens = tokens.map(|tokens| tokens.min(LARGEST_COUNT));
        self.limiter.answered(flight.sent.ticket, now, tokens);
        self.finish(document, Ending::Answered(answer));
    }

    /// What the endpoint states is told at once.
    fn tell_stated(&mut self) {
        let news = self.limiter.take_news().map(|known| Action::Tell(News::Learnt(known.into())));
        self.decided.extend(news);
    }

    /// What refusals tell is told when the next request goes: by then those of one burst have come.
    pub(super) fn tell_learnt(&mut self) {
        let Some(belief) = self.learner.belief() else { return };
        if self.told.is_none_or(|told| !told.is_near(&belief)) {
            self.told = Some(belief);
            self.decided.push_back(Action::Tell(News::Learnt(belief)));
        }
    }
}

/// So many in a row without an answer are no chance: the key has expired, or the route is gone.
const MOST_DENIALS: u32 = 5;
