//! What happened on the wire, and what follows from it.

use alloc::format;

use super::Machine;
use super::action::{Action, DocumentKey, News, Trouble};
use super::progress::{Flight, State};
use super::refusals::{Refused, Wait};
use crate::hints::{Hint, Hints};
use crate::learner::Learner;
use crate::outcome::{Answer, Ending, Failure, FailureKind, PostponeReason};
use crate::reply::Reply;
use crate::settings::LARGEST_COUNT;
use crate::time::{Delay, Now, Tick};
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
        let fault = Fault { failure, reach: Reach::Document, is_overload: false, is_cold_start: false };
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

    /// A fault uses up an attempt; the last one is the document's end. Where the endpoint is to blame and had answered
    /// before, all wait, and that uses up patience instead. An endpoint that starts up has its own allowance.
    fn fault(&mut self, document: DocumentKey, flight: Flight, fault: Fault, hint: Option<Hint>, now: Tick) {
        let Fault { failure, reach, is_overload, is_cold_start } = fault;
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
            progress.cold_starts += 1;
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
        let trouble = Trouble { document, failure, wait: wait.total(), jitter, source };
        self.decided.push_back(Action::Tell(News::Faulted(trouble)));
        if is_outage {
            self.give_up_if_fruitless(now);
        }
    }

    /// This document waits, the others go on.
    fn back_off(&mut self, document: DocumentKey, hint: Option<Hint>, now: Tick) -> Wait {
        let misses = self.documents[document.0].faults + self.documents[document.0].cold_starts;
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

    fn halt_if(&mut self, reach: Reach, failure: &Failure) {
        let halts = match reach {
            Reach::Document => false,
            Reach::UntilProven => self.answered_at.is_none(),
            Reach::Batch => true,
        };
        if halts && !self.has_ended() {
            self.decided.push_back(Action::Tell(News::Halted(failure.clone())));
            self.end(
                PostponeReason::Halted,
                format!("not sent, it would fail like the one before: {}", failure.message),
            );
        }
    }

    /// The same words for the first few documents and no answer: it is a setting that is rejected, and would be for all.
    fn halt_if_setting(&mut self, failure: &Failure) {
        if self.answered_at.is_some() || failure.kind != FailureKind::Rejected {
            return;
        }
        let times = match &self.rejected {
            Some((message, times)) if *message == failure.message => times + 1,
            _ => 1,
        };
        self.rejected = Some((failure.message.clone(), times));
        if times >= MOST_REJECTIONS {
            self.halt_if(Reach::Batch, failure);
        }
    }

    /// Successes that are no answers and no answer yet: all would be paid for, again and again.
    fn halt_if_unusable(&mut self, failure: &Failure) {
        if self.answered_at.is_none() && failure.kind == FailureKind::UnusableAnswer {
            self.unusable += 1;
            if self.unusable >= MOST_UNUSABLE {
                self.halt_if(Reach::Batch, failure);
            }
        }
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

const ALONE: u32 = 2;
const FEW: usize = 3;
/// So many in a row without an answer are no chance: the key has expired, or the route is gone.
const MOST_DENIALS: u32 = 5;
const MOST_REJECTIONS: u32 = 5;
const MOST_UNUSABLE: u32 = 3;
/// A backend that scales from zero says 503 for a minute or more.
const COLD_START: Delay = Delay::from_secs(10 * 60);
/// An outage is looked at every 8 s at least: one request is no load.
const OUTAGE_DOUBLINGS: u32 = 3;
