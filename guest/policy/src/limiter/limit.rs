//! One limit that was set or stated: its rate, and the log that keeps to it.

use super::history::History;
use super::rolling_log::RollingLog;
use crate::belief::LimitSource;
use crate::learner::Ticket;
use crate::settings::Rate;
use crate::settings::Unit;
use crate::time::{Delay, Tick};

/// A limit that was set or stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) rate: Rate,
    pub(crate) source: LimitSource,
}

/// A limit at work.
#[derive(Debug)]
pub(super) struct Enforced {
    pub(super) limit: Known,
    log: RollingLog,
    /// How much later than by the log a request goes, because it may reach the server earlier than the one before.
    margin: Delay,
    /// When the margin was changed last.
    margin_since: Tick,
    /// The first request that this limit could hold back.
    since: Ticket,
    /// The longest time to a reset that the endpoint stated: the window is no shorter.
    longest_reset: Delay,
    /// As it was told last; what was set is known.
    told: Option<Known>,
    /// Statements in a row that speak for giving back, or against it.
    giving_back: i8,
}

impl Enforced {
    pub(super) fn new(limit: Known, since: Ticket, now: Tick, history: &History) -> Self {
        let mut log = RollingLog::default();
        for sent in history.iter() {
            log.enter(sent.ticket, sent.at, sent.cost(limit.rate.unit));
            if sent.is_refused {
                log.refuse(sent.ticket);
            }
        }
        Self {
            limit,
            log,
            margin: least_margin(limit.rate.window),
            margin_since: now,
            since,
            longest_reset: Delay::ZERO,
            told: (limit.source == LimitSource::Settings).then_some(limit),
            giving_back: 0,
        }
    }

    /// When a request with so many tokens may go. A limit never stops one that is larger than it: that waits until the
    /// window is empty.
    pub(super) fn allows_at(&mut self, now: Tick, tokens: u64) -> Tick {
        let Rate { unit, amount, window } = self.limit.rate;
        let room = amount.saturating_sub(unit.cost(tokens));
        self.relax(now);
        self.log.advance(now, window + self.margin, window + window.divided_by(4));
        self.log.frees(self.log.used().saturating_sub(room), window + self.margin)
    }

    /// Whether it can never let a request with so many tokens go.
    pub(super) const fn is_smaller_than(&self, tokens: u64) -> bool {
        self.limit.rate.unit.cost(tokens) > self.limit.rate.amount
    }

    pub(super) fn sent(&mut self, ticket: Ticket, now: Tick, tokens: u64) {
        self.log.enter(ticket, now, self.limit.rate.unit.cost(tokens));
    }

    /// The limit, if it is not as it was told last.
    pub(super) fn take_news(&mut self) -> Option<Known> {
        (self.told.replace(self.limit) != Some(self.limit)).then_some(self.limit)
    }

    /// A request was answered.
    pub(super) fn answered(&mut self, ticket: Ticket, tokens: Option<u64>) {
        if let (Unit::Tokens, Some(tokens)) = (self.limit.rate.unit, tokens) {
            self.log.settle(ticket, tokens);
        }
    }

    /// A request was refused that this limit had let go. Says whether that is explained without another limit: it was sent
    /// before this one was known, it met others on the way, or refused requests count.
    pub(super) fn refused(&mut self, ticket: Ticket, cost: u64, now: Tick) -> bool {
        let is_explained = ticket < self.since || self.explain(ticket, cost, now);
        self.log.refuse(ticket);
        is_explained
    }

    fn explain(&mut self, ticket: Ticket, cost: u64, now: Tick) -> bool {
        let Rate { amount, window, .. } = self.limit.rate;
        let counts = self.log.counts_refusals();
        let most = window.divided_by(4);
        let is_full = |log: &RollingLog, margin: Delay, counts: bool| {
            log.used_before(ticket, window + margin, counts).saturating_add(cost) > amount
        };
        let wider = [self.margin.times(2), MOST_MARGIN].map(|margin| margin.min(most));
        if let Some(margin) = wider.into_iter().find(|margin| is_full(&self.log, *margin, counts)) {
            self.margin = self.margin.max(margin);
            self.margin_since = now;
            self.log.lengthen();
            return true;
        }
        let refusals_count = !counts && is_full(&self.log, self.margin, true);
        if refusals_count {
            self.log.count_refusals(true);
        }
        refusals_count
    }

    /// A margin that was not needed for some windows shrinks.
    fn relax(&mut self, now: Tick) {
        let least = least_margin(self.limit.rate.window);
        let clean = self.limit.rate.window.times(CLEAN_WINDOWS).max(SHORTEST_CLEAN);
        if self.margin > least && now.since(self.margin_since) >= clean {
            self.margin = least.max(self.margin - self.margin.divided_by(4).max(Delay::from_ms(1)));
            self.margin_since = now;
        }
    }

    /// A request was refused for another reason.
    pub(super) fn withdrawn(&mut self, ticket: Ticket) {
        self.log.refuse(ticket);
    }

    /// The endpoint states how many tokens are used, where so many would be if reservations were kept, and so many if what
    /// was not taken were given back. Most endpoints keep them for the whole window, so it takes two statements in a row
    /// to believe otherwise.
    pub(super) fn compare(&mut self, used: u64, reserved: u64, settled: u64) {
        if reserved == settled {
            return;
        }
        let gives_back = used.abs_diff(settled) < used.abs_diff(reserved);
        let step = if gives_back { 1 } else { -1 };
        self.giving_back = if self.giving_back.signum() == step { (2 * step).max(-2) } else { step };
        if self.giving_back.abs() == 2 {
            self.log.give_back(gives_back);
        }
    }

    /// The endpoint states it anew. Where others use the key too, a window is seen too long rather than too short, so one
    /// that is clearly shorter holds, if it is not shorter than a reset.
    pub(super) fn restate(&mut self, amount: u64, window: Option<Delay>, reset: Delay) {
        let known = self.limit.rate.window;
        self.longest_reset = self.longest_reset.max(reset);
        let window = window
            .map(|window| window.max(self.longest_reset))
            .filter(|window| *window + known.divided_by(10) < known)
            .unwrap_or(known);
        self.limit.rate = Rate { amount, window, ..self.limit.rate };
    }
}

/// With 0–300 ms of network delay, stamps without a margin cost 303 s instead of 244 s on the reference job, and a margin
/// of 250 ms lets refusals through. In short windows a fiftieth has to do: more would cost those more that have no delay.
fn least_margin(window: Delay) -> Delay {
    Delay::from_ms(350).min(window.divided_by(50))
}

/// Delays of more than that are rare.
const MOST_MARGIN: Delay = Delay::from_ms(700);
/// Windows without a refusal before a margin shrinks by a quarter.
const CLEAN_WINDOWS: u64 = 4;
const SHORTEST_CLEAN: Delay = Delay::from_secs(20);
