//! One limit: its rate, where that was learnt, and the log that keeps to it.

use crate::limiter::history::History;
use crate::limiter::rolling_log::{RollingLog, Ticket};
use crate::settings::{Rate, Unit};
use crate::time::{Delay, Tick};

/// A limit and where it was learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How much per window.
    pub rate: Rate,
    /// Where it was learnt.
    pub source: LimitSource,
}

/// Where a limit was learnt, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitSource {
    /// It was set.
    Settings,
    /// The endpoint states it.
    Headers,
    /// It explains the refusals that were seen.
    Refusals,
}

/// A limit at work.
#[derive(Debug)]
pub(crate) struct Enforced {
    pub(crate) limit: Limit,
    log: RollingLog,
    /// How much later than by the log a request goes, because it may reach the server earlier than the one before.
    margin: Delay,
    /// The first request that this limit could hold back.
    since: Ticket,
    growth: Growth,
}

/// A learnt limit tries one more after clean windows; each try that is refused doubles how many it takes.
#[derive(Debug)]
struct Growth {
    clean_since: Tick,
    clean_windows: u64,
    was_full: bool,
    is_trying: bool,
}

impl Enforced {
    pub(crate) fn new(limit: Limit, since: Ticket, now: Tick, history: &History) -> Self {
        let mut log = RollingLog::default();
        for sent in history.iter() {
            log.enter(sent.ticket, sent.at, cost(limit.rate.unit, sent.tokens));
            if let Some(refused_at) = sent.refused_at {
                log.refuse(sent.ticket, refused_at);
            }
        }
        let margin = MOST_MARGIN.min(limit.rate.window.divided_by(20));
        let growth = Growth { clean_since: now, clean_windows: 1, was_full: false, is_trying: false };
        Self { limit, log, margin, since, growth }
    }

    /// When a request with so many tokens may go; never if it is larger than the limit.
    pub(crate) fn allows_at(&mut self, now: Tick, tokens: u64) -> Option<Tick> {
        let cost = cost(self.limit.rate.unit, tokens);
        let room = self.limit.rate.amount.checked_sub(cost)?;
        let window = self.limit.rate.window + self.margin;
        self.log.forget(now, window);
        let at = self.log.frees(self.log.used().saturating_sub(room), window);
        self.growth.was_full |= at > now;
        Some(at)
    }

    pub(crate) fn sent(&mut self, ticket: Ticket, now: Tick, tokens: u64) {
        self.log.enter(ticket, now, cost(self.limit.rate.unit, tokens));
    }

    /// A request was answered. Says whether the limit grew.
    pub(crate) fn answered(&mut self, ticket: Ticket, now: Tick, tokens: Option<u64>) -> bool {
        if let (Unit::Tokens, Some(tokens)) = (self.limit.rate.unit, tokens) {
            self.log.correct(ticket, tokens);
        }
        let clean = self.limit.rate.window.max(SHORTEST_CLEAN).times(self.growth.clean_windows);
        let may_grow = self.limit.source == LimitSource::Refusals && self.growth.was_full;
        if !may_grow || now.since(self.growth.clean_since) < clean {
            return false;
        }
        self.limit.rate.amount += 1;
        self.growth = Growth { clean_since: now, was_full: false, is_trying: true, ..self.growth };
        true
    }

    /// A request was refused. Says whether the limit changed.
    pub(crate) fn refused(&mut self, ticket: Ticket, now: Tick, history: &History) -> bool {
        let explained = self.log.followed_a_refusal(ticket);
        self.log.refuse(ticket, now);
        if ticket < self.since {
            return false;
        }
        if explained {
            self.log.count_refusals();
        } else {
            self.margin = (self.margin + self.margin).min(self.limit.rate.window.divided_by(4));
        }
        self.limit.source == LimitSource::Refusals && self.fall_back(now, history)
    }

    /// A request was refused for another reason.
    pub(crate) fn withdrawn(&mut self, ticket: Ticket, now: Tick) {
        self.log.refuse(ticket, now);
    }

    /// Refused requests take slots, as far as is known; so a try to grow costs one, and is made more rarely. A limit that
    /// was set is kept to as it is.
    pub(crate) fn count_refusals(&mut self) {
        if self.limit.source == LimitSource::Refusals {
            self.log.count_refusals();
            self.growth.clean_windows = self.growth.clean_windows.max(RARE);
        }
    }

    /// Falls back to what was really admitted in the last window.
    fn fall_back(&mut self, now: Tick, history: &History) -> bool {
        let amount = history.admitted_since(now - self.limit.rate.window).clamp(1, self.limit.rate.amount);
        let clean_windows = self.growth.clean_windows * if self.growth.is_trying { 2 } else { 1 };
        self.growth = Growth { clean_since: now, clean_windows, was_full: false, is_trying: false };
        core::mem::replace(&mut self.limit.rate.amount, amount) != amount
    }

    /// The endpoint states it anew. Says whether that changes it. A window is seen too long rather than too short, by the
    /// time that the answer took, so the shortest holds; but if more is used than this log knows of, it was too short.
    pub(crate) fn restate(&mut self, amount: u64, window: Option<Delay>, is_too_short: bool) -> bool {
        let known = self.limit.rate.window;
        let window = window.map_or(known, |window| if is_too_short { window.max(known) } else { window.min(known) });
        let rate = Rate { amount, window, ..self.limit.rate };
        core::mem::replace(&mut self.limit.rate, rate) != rate
    }
}

const fn cost(unit: Unit, tokens: u64) -> u64 {
    match unit {
        Unit::Requests => 1,
        Unit::Tokens => tokens,
    }
}

/// A short window is clean soon; tries to grow that are refused cost more than they bring.
const SHORTEST_CLEAN: Delay = Delay::from_secs(60);
/// Clean windows before the first try to grow, where a try costs a slot.
const RARE: u64 = 4;
/// With 0–300 ms of network delay, stamps without a margin cost 303 s instead of 244 s on the reference job.
const MOST_MARGIN: Delay = Delay::from_ms(250);
