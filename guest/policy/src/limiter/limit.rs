//! One limit: its rate, where that was learnt, and the log that keeps to it.

use crate::limiter::growth::Growth;
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
    /// The first request that this limit could hold back, or that was sent after the latest refusal; what was sent before
    /// tells nothing new.
    since: Ticket,
    /// What was sent before this, and not known to be refused, is the evidence for its amount, which was larger before.
    evidence: Evidence,
    /// The longest time to a reset that the endpoint stated: the window is no shorter.
    longest_reset: Delay,
    /// The first request that it did hold back, and when: by then there was no more room than the endpoint gives lastingly.
    held_since: Option<(Ticket, Tick)>,
    /// A window of one request cannot hold fewer; it may become half as long again.
    learnt_window: Delay,
    growth: Growth,
    /// As it was told last; what was set is known.
    told: Option<Limit>,
    /// Statements in a row that speak for giving back, or against it.
    giving_back: i8,
}

#[derive(Clone, Copy, Debug)]
struct Evidence {
    before: Ticket,
    most: u64,
}

impl Enforced {
    pub(crate) fn new(limit: Limit, since: Ticket, now: Tick, history: &History) -> Self {
        let mut log = RollingLog::default();
        for sent in history.iter() {
            log.enter(sent.ticket, sent.at, sent.cost(limit.rate.unit));
            if let Some(refused_at) = sent.refused_at {
                log.refuse(sent.ticket, refused_at);
            }
        }
        let margin = MOST_MARGIN.min(limit.rate.window.divided_by(170));
        let growth = Growth::new(now);
        let learnt_window = limit.rate.window;
        let evidence = Evidence { before: since, most: limit.rate.amount };
        let longest_reset = Delay::ZERO;
        Self {
            limit,
            log,
            margin,
            since,
            evidence,
            longest_reset,
            held_since: None,
            learnt_window,
            growth,
            told: (limit.source == LimitSource::Settings).then_some(limit),
            giving_back: 0,
        }
    }

    /// When a request with so many tokens may go, which would be the one of that ticket; never if it is larger than the
    /// limit.
    pub(crate) fn allows_at(&mut self, now: Tick, ticket: Ticket, tokens: u64) -> Option<Tick> {
        let cost = self.limit.rate.unit.cost(tokens);
        let room = self.limit.rate.amount.checked_sub(cost)?;
        let window = self.limit.rate.window + self.margin;
        self.log.forget(now, window);
        let at = self.log.frees(self.log.used().saturating_sub(room), window);
        if at > now {
            self.growth.full();
            self.held_since.get_or_insert((ticket, now));
        }
        Some(at)
    }

    pub(crate) fn sent(&mut self, ticket: Ticket, now: Tick, tokens: u64) {
        self.log.enter(ticket, now, self.limit.rate.unit.cost(tokens));
    }

    /// The limit, if it is not as it was told last.
    pub(crate) fn take_news(&mut self, of_refusals: bool) -> Option<Limit> {
        let is_ripe = of_refusals || self.limit.source != LimitSource::Refusals;
        let is_news = is_ripe && self.told.replace(self.limit) != Some(self.limit);
        is_news.then_some(self.limit)
    }

    /// A request was answered, and so many documents have still to go.
    pub(crate) fn answered(&mut self, ticket: Ticket, now: Tick, tokens: Option<u64>, queued: usize) {
        if let (Unit::Tokens, Some(tokens)) = (self.limit.rate.unit, tokens) {
            self.log.settle(ticket, tokens);
        }
        // A try that is refused may cost a slot; for the last few documents it brings nothing.
        let is_worth_it = queued as u64 >= self.limit.rate.amount.min(MANY);
        if self.limit.source == LimitSource::Refusals && is_worth_it {
            self.limit.rate = self.growth.grow(self.limit.rate, now).unwrap_or(self.limit.rate);
        }
    }

    /// A request was refused that this limit had let go; `next` is the next that will be sent. Says how that is explained.
    pub(crate) fn refused(&mut self, ticket: Ticket, next: Ticket, now: Tick) -> Explanation {
        let Rate { amount, window, .. } = self.limit.rate;
        let explained = self.log.is_full_with_refusals(ticket, amount, window);
        self.log.refuse(ticket, now);
        if ticket < self.since {
            return Explanation::Old;
        }
        self.since = next;
        if explained {
            self.log.count_refusals();
            return Explanation::RefusalsCount;
        }
        if !self.growth.is_trying() {
            self.margin = (self.margin + self.margin).min(self.limit.rate.window.divided_by(4));
        }
        Explanation::None
    }

    /// A request was refused for another reason.
    pub(crate) fn withdrawn(&mut self, ticket: Ticket, now: Tick) {
        self.log.refuse(ticket, now);
    }

    /// Refused requests take slots, as far as is known. A limit that was set is kept to as it is.
    pub(crate) fn count_refusals(&mut self) {
        if self.limit.source == LimitSource::Refusals {
            self.log.count_refusals();
        }
    }

    /// What is left of this one beside others who use the key too, as a limit of its own.
    pub(crate) fn share(&self, next: Ticket, now: Tick, history: &History) -> Self {
        let most = self.limit.rate.amount;
        let rate = Rate { amount: self.admitted(now, history).min(most), ..self.limit.rate };
        let limit = Limit { rate, source: LimitSource::Refusals };
        let share = Self::new(limit, next, now, history);
        Self { evidence: Evidence { before: next, most }, held_since: self.held_since, ..share }
    }

    /// A request that was counted as admitted turns out to have been refused.
    pub(crate) fn discount(&mut self, ticket: Ticket, now: Tick, history: &History) {
        if ticket < self.evidence.before {
            self.limit.rate.amount = self.admitted(now, history).min(self.evidence.most);
        }
    }

    /// All that it was learnt from turns out to have been refused: nothing is known then.
    pub(crate) fn has_no_evidence(&self, now: Tick, history: &History) -> bool {
        self.held_since.is_none() && history.admitted_since(now - self.limit.rate.window, 0) == 0
    }

    /// What was really admitted in the last window; if it was full for the first time a while ago, only what was sent
    /// since, if that is anything: what came before was the room of an endpoint that had been idle.
    pub(crate) fn admitted(&self, now: Tick, history: &History) -> u64 {
        let window = self.limit.rate.window;
        let admitted = |first| history.admitted_since(now - window, first);
        let held = self.held_since.filter(|(_, held_at)| now.since(*held_at) >= window.divided_by(2));
        let since_held = held.map(|(ticket, _)| admitted(ticket)).filter(|admitted| *admitted > 0);
        since_held.unwrap_or_else(|| admitted(0)).max(1)
    }

    /// A learnt limit falls back to what was before its try to grow, else to what is really admitted.
    pub(crate) fn fall_back(&mut self, now: Tick, history: &History) {
        let known = self.limit.rate;
        let amount = self.admitted(now, history).min(known.amount);
        let before = self.growth.fail(now);
        let has_margin = self.margin < known.window.divided_by(4);
        let is_single = amount == 1 && known.amount == 1 && !has_margin;
        let longest = self.learnt_window + self.learnt_window.divided_by(2);
        let longer = (known.window + known.window.divided_by(4)).min(longest).max(known.window);
        let window = if is_single { longer } else { known.window };
        self.limit.rate = before.unwrap_or(Rate { amount, window, ..known });
        self.evidence = Evidence { before: if before.is_some() { 0 } else { self.since }, most: known.amount };
        if self.limit.rate.amount < known.amount && before.is_none() {
            self.growth.fell();
        }
    }

    /// The endpoint states how many tokens are used, where so many would be if reservations were kept, and so many if what
    /// was not taken were given back. Most endpoints keep them for the whole window, so it takes two statements in a row
    /// to believe otherwise.
    pub(crate) fn compare(&mut self, used: u64, reserved: u64, settled: u64) {
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
    pub(crate) fn restate(&mut self, amount: u64, window: Option<Delay>, reset: Delay) {
        let known = self.limit.rate.window;
        self.longest_reset = self.longest_reset.max(reset);
        let window = window
            .map(|window| window.max(self.longest_reset))
            .filter(|window| *window + known.divided_by(10) < known)
            .unwrap_or(known);
        self.limit.rate = Rate { amount, window, ..self.limit.rate };
    }
}

/// Why a request was refused that the log had cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explanation {
    /// It was sent before the limit was known as it is now.
    Old,
    /// The endpoint counts the requests that it refuses.
    RefusalsCount,
    /// There is less room than the limit says.
    None,
}

/// A caller may feed documents in small numbers.
const MANY: u64 = 64;
/// With 0–300 ms of network delay, stamps without a margin cost 303 s instead of 244 s on the reference job, and a margin
/// of 250 ms lets refusals through.
const MOST_MARGIN: Delay = Delay::from_ms(350);
