//! A refusal, and how long it makes everyone wait.

use alloc::string::ToString;

use super::Machine;
use super::action::{Action, DocumentKey, News, Refusal};
use super::progress::Flight;
use crate::hints::Hint;
use crate::outcome::{PostponeReason, Postponement};
use crate::reply::Reply;
use crate::time::{Delay, Tick};

/// A request that the endpoint did not admit.
#[derive(Clone, Copy)]
pub(super) struct Refused<'a> {
    pub(super) document: DocumentKey,
    pub(super) flight: Flight,
    pub(super) reply: &'a Reply,
}

impl Machine {
    /// Too many per time. Where the endpoint says that there is room now, nothing is learnt from it.
    pub(super) fn refused(&mut self, refused: Refused, hint: Option<Hint>, says_now: bool, now: Tick) {
        // One request goes first after a limit that was not known.
        let probe_first = !self.limiter.is_known();
        if says_now {
            self.limiter.withdrawn(refused.flight.ticket, now);
        } else {
            self.limiter.refused(refused.flight.ticket, hint.map(|hint| hint.wait), now);
        }
        self.close_gate(refused, hint, probe_first, now);
    }

    /// Too many at one time: the next of those on the wire to end makes a place. Where there are none, strangers hold all
    /// places, and only time helps.
    pub(super) fn crowded(&mut self, refused: Refused, now: Tick) {
        let Flight { ticket, wave, .. } = refused.flight;
        self.limiter.withdrawn(ticket, now);
        self.allowance.crowd(ticket, self.in_flight.len(), self.limiter.next_ticket());
        if self.in_flight.is_empty() {
            return self.close_gate(refused, None, true, now);
        }
        self.gate.missed(wave);
        self.go_again(refused, Wait { floor: Delay::ZERO, jitter: Delay::ZERO, source: "max-in-flight" }, now);
    }

    /// A refusal closes the gate for all. Of one burst only the first counts as a miss; the others can hold the gate
    /// closed for longer.
    fn close_gate(&mut self, refused: Refused, hint: Option<Hint>, probe_first: bool, now: Tick) {
        let wait = self.wait_after(refused.flight, hint, now);
        if self.gate.is_news(refused.flight.wave) {
            self.gate.refuse(now, wait.total(), probe_first);
        } else {
            self.gate.hold(now + wait.total());
        }
        self.go_again(refused, wait, now);
        self.give_up_if_fruitless(now);
    }

    fn go_again(&mut self, refused: Refused, wait: Wait, now: Tick) {
        let Refused { document, reply, .. } = refused;
        self.tally.refusals += 1;
        self.documents[document.0].refusals += 1;
        self.queue_again(document, now);
        self.decided.push_back(Action::Tell(News::Refused(Refusal {
            document,
            status: reply.status,
            wait: wait.total(),
            jitter: wait.jitter,
            source: wait.source,
            headers: reply.headers.clone(),
        })));
    }

    /// Refusals without one answer for longer than patience: what waits is postponed to where the gate opens. (Where the
    /// gate alone is closed for longer, the sender postpones.)
    pub(super) fn give_up_if_fruitless(&mut self, now: Tick) {
        let since = *self.fruitless_since.get_or_insert(now);
        let opens = self.gate.opens_at().unwrap_or(now);
        if opens.since(since) <= self.settings.patience || opens.since(now) > self.settings.patience {
            return;
        }
        let message = "no request was answered for as long as patience allows".to_string();
        let postponement = Postponement { reason: PostponeReason::Patience, until: Some(opens), message };
        self.postpone_queue(&postponement);
        self.ended.get_or_insert(postponement);
    }

    /// How long the gate stays closed: the endpoint's hint, but no less than our own back-off; without a hint the fixed
    /// wait, if one is set, else until the next usual window ends, while the window is not known, else back-off.
    fn wait_after(&mut self, flight: Flight, hint: Option<Hint>, now: Tick) -> Wait {
        if !self.gate.is_news(flight.wave) {
            let floor = hint.map_or(Delay::ZERO, |hint| hint.wait);
            let is_longer = self.gate.opens_at().is_some_and(|opens| now + floor > opens);
            let jitter = if is_longer { self.backoff.spread() } else { Delay::ZERO };
            return Wait { floor, jitter, source: hint.map_or("back-off", |hint| hint.source) };
        }
        let own = self.backoff.full_jitter(self.gate.streak());
        match (hint, self.settings.fallback_wait) {
            (Some(hint), _) if hint.wait >= own => {
                Wait { floor: hint.wait, jitter: self.backoff.spread(), source: hint.source }
            }
            (None, Some(wait)) => Wait { floor: wait.max(own), jitter: self.backoff.spread(), source: "fallback-wait" },
            (None, None) => match self.limiter.until_probe(now) {
                Some(wait) if wait >= own => {
                    Wait { floor: wait.min(self.settings.cap), jitter: self.backoff.spread(), source: "probe" }
                }
                _ => Wait::back_off(own),
            },
            (Some(_), _) => Wait::back_off(own),
        }
    }
}

/// How long is waited, and why.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) floor: Delay,
    pub(super) jitter: Delay,
    pub(super) source: &'static str,
}

impl Wait {
    /// Ours, all of it jitter.
    pub(super) const fn back_off(jitter: Delay) -> Self {
        Self { floor: Delay::ZERO, jitter, source: "back-off" }
    }

    pub(super) fn total(self) -> Delay {
        self.floor + self.jitter
    }
}
