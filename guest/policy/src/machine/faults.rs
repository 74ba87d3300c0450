//! What follows from a fault: the document backs off, or all wait where the endpoint is out.

use alloc::format;

use super::Machine;
use super::action::{Action, DocumentKey, News, Trouble};
use super::progress::{Flight, State};
use super::refusals::Wait;
use crate::hints::Hint;
use crate::learner::Learner;
use crate::outcome::{Failure, FailureKind};
use crate::time::{Delay, Tick};
use crate::verdict::{Fault, Reach};

impl Machine {
    /// A fault uses up an attempt; the last one is the document's end. Where the endpoint is to blame and had answered
    /// before, all wait, and that uses up patience instead. An endpoint that starts up has its own allowance.
    pub(super) fn fault(&mut self, document: DocumentKey, flight: Flight, fault: Fault, hint: Option<Hint>, now: Tick) {
        let Fault { failure, reach, reached, is_overload, is_cold_start } = fault;
        if failure.status.is_some_and(|status| (200..300).contains(&status)) {
            // It got through, whatever came back.
            self.learner.admitted(flight.sent, now);
        } else {
            self.learner.withdrawn(flight.sent, now);
        }
        if reach == Reach::Batch || failure.status.is_some_and(|status| status >= 500) {
            // It came from in front of the limit, or as an error of it; if such requests take slots, a refusal will tell.
            self.limiter.withdrawn(flight.sent.ticket);
        }
        self.halt_if_unusable(&failure);
        // One that fails again and again while others are answered says nothing of the endpoint; others do.
        let is_own = self.documents[document.0].failed(self.answered_sent_at, flight.sent.at) >= ALONE;
        let is_half = match is_own {
            true => self.gate.consecutive_refusals() > 0,
            false => self.gate.faulted(flight.episode, flight.sent.at),
        };
        if is_overload && self.gate.is_strained() {
            self.allowance.halve(flight.sent.ticket, self.limiter.next_ticket());
        }
        let is_outage = reach != Reach::Document || is_half && failure.kind == FailureKind::ServerFault;
        let allowance = COLD_START.min(self.settings.patience);
        let has_answers = self.answered_at.is_some();
        let progress = &mut self.documents[document.0];
        if is_cold_start && now.since(*progress.cold_since.get_or_insert(now)) < allowance {
            progress.uncounted += 1;
        } else if !is_outage || !has_answers && reach != Reach::Batch {
            progress.faults += 1;
        }
        let faults = progress.faults;
        if faults >= self.settings.max_attempts {
            self.gate.inconclusive(flight.episode);
            // An endpoint that fails every try of the first documents would fail the others too.
            let fails_all = is_outage || failure.kind == FailureKind::ServerFault;
            self.halt_if(if fails_all { Reach::UntilProven } else { reach }, &failure);
            let message = format!("{} (after {faults} attempts)", failure.message);
            return self.fail(document, Failure { message, ..failure });
        }
        let wait = if is_outage {
            self.back_off_all(document, flight, hint, now)
        } else {
            self.gate.inconclusive(flight.episode);
            self.back_off(document, hint, now)
        };
        let Wait { jitter, source, .. } = wait;
        let trouble = Trouble { document, failure, reached, wait: wait.total(), jitter, source };
        self.decided.push_back(Action::Tell(News::Faulted(trouble)));
        if is_outage {
            self.give_up_if_fruitless(now);
        }
    }

    /// The request never got as far as to be looked at: it took neither an attempt nor tokens, and fewer may go at a time.
    pub(super) fn turned_away(&mut self, document: DocumentKey, flight: Flight, failure: Failure, now: Tick) {
        self.learner.withdrawn(flight.sent, now);
        self.limiter.withdrawn(flight.sent.ticket);
        self.gate.inconclusive(flight.episode);
        self.allowance.halve(flight.sent.ticket, self.limiter.next_ticket());
        self.documents[document.0].uncounted += 1;
        let wait = self.back_off(document, None, now);
        let Wait { jitter, source, .. } = wait;
        let trouble = Trouble { document, failure, reached: false, wait: wait.total(), jitter, source };
        self.decided.push_back(Action::Tell(News::Faulted(trouble)));
        self.give_up_if_fruitless(now);
    }

    /// This document waits, the others go on.
    fn back_off(&mut self, document: DocumentKey, hint: Option<Hint>, now: Tick) -> Wait {
        let misses = self.documents[document.0].faults + self.documents[document.0].uncounted;
        let own = Wait::back_off(self.backoff.full_jitter(misses.saturating_sub(1)));
        let hinted = hint.map(|hint| Wait { floor: hint.wait, jitter: Delay::ZERO, source: hint.source });
        let wait = hinted.filter(|hinted| hinted.total() >= own.total()).unwrap_or(own);
        let budgeted = self.retry_budget.withdraw(now);
        let wait = if budgeted > wait.total() { Wait::back_off(budgeted) } else { wait };
        self.back_off_until(document, now + wait.total(), now);
        wait
    }

    pub(super) fn back_off_until(&mut self, document: DocumentKey, until: Tick, now: Tick) {
        self.documents[document.0].state = State::BackingOff { until, since: now };
        self.backing_off.insert((until, document));
    }

    /// The endpoint is out: all wait, else every document would only run into the same wall.
    fn back_off_all(&mut self, document: DocumentKey, flight: Flight, hint: Option<Hint>, now: Tick) -> Wait {
        let own = self.backoff.full_jitter(self.gate.consecutive_refusals().min(OUTAGE_DOUBLINGS));
        // Of a few documents nobody knows whether it is them: they look ever less often, and lose as much again at most.
        let outage = self.fruitless_since.map_or(Delay::ZERO, |since| now.since(since));
        let is_of_few = self.documents.len() <= FEW && self.answered_at.is_some();
        let own = if is_of_few { own.max(outage) } else { own };
        let own = if self.gate.is_news(flight.episode) { own } else { Delay::ZERO };
        self.learner.interrupted();
        self.gate.close(flight.episode, now, own.max(hint.map_or(Delay::ZERO, |hint| hint.wait)));
        // Where others were answered it may be this one that fails: the next look is another's. Before, one is to find out.
        self.queue_again(document, self.answered_at.is_none(), now);
        let total = self.gate.opens_at().map_or(Delay::ZERO, |opens| opens.since(now));
        match hint {
            Some(hint) if total <= hint.wait => Wait { floor: total, jitter: Delay::ZERO, source: hint.source },
            _ => Wait::back_off(total),
        }
    }

    /// The document goes again as soon as gate and limits let it: before those that were never sent, or behind them.
    pub(super) fn queue_again(&mut self, document: DocumentKey, is_next: bool, now: Tick) {
        self.documents[document.0].state = State::Queued { since: Some(now) };
        if is_next {
            self.queue.push_front(document);
        } else {
            self.queue.push_back(document);
        }
    }
}

const ALONE: u32 = 2;
const FEW: usize = 3;
/// A backend that scales from zero says 503 for a minute or more.
const COLD_START: Delay = Delay::from_secs(10 * 60);
/// An outage is looked at every 8 s at least: one request is no load.
const OUTAGE_DOUBLINGS: u32 = 3;
