//! What may be sent now, and why not.

use alloc::format;

use super::Machine;
use super::action::{Action, DocumentKey, News, Pause, PauseReason};
use super::progress::Flight;
use crate::learner::{Learner, Reason, Turn};
use crate::limiter::Permit;
use crate::outcome::{Failure, FailureKind, PostponeReason, Postponement};
use crate::settings::Rate;
use crate::time::{Delay, Now, Tick};

impl Machine {
    /// Sends the next document, if it may go; else decides what becomes of it, or remembers why all wait.
    pub(super) fn send_next(&mut self, now: Now) -> Option<Action> {
        let document = *self.queue.front()?;
        if self.in_flight.len() >= self.allowance.requests() {
            return None;
        }
        let tokens = self.documents[document.0].tokens;
        let permit = self.limiter.permit(now.tick, tokens);
        if let Permit::Never(rate) = permit {
            self.queue.pop_front();
            self.fail(document, oversize(tokens, rate));
            return None;
        }
        let opens = self.gate.opens_at()?;
        match pause(opens, permit, now.tick) {
            Some(pause) => self.pause_or_postpone(pause, now),
            None => match self.learner.turn(now.tick, self.in_flight.len(), self.queue.len()) {
                Turn::Go => return Some(self.send(document, tokens, now.tick)),
                Turn::Wait(until, reason) => self.pause_or_postpone(learnt_pause(until, reason), now),
                Turn::AfterAnswer => self.pause = None,
            },
        }
        None
    }

    fn send(&mut self, document: DocumentKey, tokens: u64, now: Tick) -> Action {
        self.queue.pop_front();
        self.pause = None;
        if core::mem::take(&mut self.is_pause_told) {
            self.decided.push_back(Action::Tell(News::Resumed));
        }
        self.tell_learnt();
        let overdue_at = now + self.settings.whole_request;
        let ticket = self.limiter.sent(now, tokens);
        let sent = self.learner.sent(ticket, now, self.in_flight.len());
        let flight = Flight { sent, episode: self.gate.episode(), overdue_at };
        self.gate.pass();
        self.documents[document.0].send(flight, now);
        self.in_flight.insert((overdue_at, document));
        self.decided.push_back(Action::Send {
            document,
            attempt: self.documents[document.0].attempts,
            in_flight: self.in_flight.len() as u32,
        });
        self.decided.pop_front().unwrap_or(Action::Idle)
    }

    /// Nothing may go before the pause ends; if that is beyond patience, what waits is postponed.
    fn pause_or_postpone(&mut self, pause: Pause, now: Now) {
        let wait = pause.until.since(now.tick);
        if wait > self.settings.patience {
            let seconds = wait.as_ms().div_ceil(1_000);
            return self.postpone_queue(&Postponement {
                reason: PostponeReason::Patience,
                until: Some(pause.until),
                message: self.in_its_words(format!("the next request may go in {seconds} s, which is beyond patience")),
            });
        }
        if wait >= WORTH_TELLING && self.pause != Some(pause) {
            self.is_pause_told = true;
            self.decided.push_back(Action::Tell(News::Paused(pause)));
        }
        self.pause = Some(pause);
    }

    /// What is left when nothing can be done now.
    pub(super) fn wait(&mut self, now: Tick) -> Action {
        if self.documents.is_empty() {
            self.pause = None;
            return Action::Idle;
        }
        let rested = self.backing_off.first().map(|(at, _)| *at);
        if self.queue.is_empty() {
            let until = rested.filter(|_| self.in_flight.is_empty());
            let pause = until.map(|until| Pause { until, reason: PauseReason::BackOff, limit: None });
            if core::mem::replace(&mut self.pause, pause) != pause
                && let Some(pause) = pause.filter(|pause| pause.until.since(now) >= WORTH_TELLING)
            {
                self.is_pause_told = true;
                return Action::Tell(News::Paused(pause));
            }
        }
        let has_room = self.in_flight.len() < self.allowance.requests();
        let opens = self.pause.filter(|_| has_room).map(|pause| pause.until).filter(|until| *until > now);
        let overdue = self.in_flight.first().map(|(at, _)| *at);
        Action::Wait([opens, overdue, rested].into_iter().flatten().min())
    }
}

/// The later of gate and limit, if it is not over.
fn pause(opens: Tick, permit: Permit, now: Tick) -> Option<Pause> {
    let closed = Pause { until: opens, reason: PauseReason::BackOff, limit: None };
    let pause = match permit {
        Permit::Wait(until, Some(rate)) if until > opens => {
            Pause { until, reason: PauseReason::Limit, limit: Some(rate) }
        }
        Permit::Wait(until, None) if until > opens => Pause { until, reason: PauseReason::Pace, limit: None },
        _ => closed,
    };
    (pause.until > now).then_some(pause)
}

const fn learnt_pause(until: Tick, reason: Reason) -> Pause {
    match reason {
        Reason::Refused | Reason::Probing => Pause { until, reason: PauseReason::Refused, limit: None },
        Reason::Limit(rate) => Pause { until, reason: PauseReason::Limit, limit: Some(rate) },
    }
}

fn oversize(tokens: u64, rate: Rate) -> Failure {
    Failure {
        kind: FailureKind::TooLarge,
        message: format!(
            "it needs {tokens} tokens, the limit is {} per {} ms; split it, lower max-tokens or raise the limit",
            rate.amount,
            rate.window.as_ms()
        ),
        status: None,
        request_id: None,
        body: None,
    }
}

/// Shorter pauses are no news: a person would not see them.
const WORTH_TELLING: Delay = Delay::from_secs(1);
