//! When the next request may go so that no limit is passed that was set, or else is stated by the endpoint: an exact log for
//! each. Limits that nobody stated are for the [`learner`](crate::learner).

mod history;
mod limit;
mod rolling_log;
mod statements;
mod stating;

use alloc::vec::Vec;

use self::history::History;
use self::limit::Enforced;
pub(crate) use self::limit::Known;
use self::statements::Statements;
use crate::belief::LimitSource;
use crate::learner::Ticket;
use crate::settings::{Rate, Settings, Unit};
use crate::time::{Delay, Tick};

/// All limits of one key that are known.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Vec<Enforced>,
    history: History,
    pace: Delay,
    last_sent_at: Option<Tick>,
    next_ticket: Ticket,
    statements: Statements,
}

/// When a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// Now.
    Go,
    /// At that instant, because of this limit; without one, because of the pace.
    Wait(Tick, Option<Rate>),
    /// Not at all: it is larger than this limit.
    Never(Rate),
}

impl Limiter {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut limiter = Self {
            limits: Vec::new(),
            history: History::default(),
            pace: settings.pace,
            last_sent_at: None,
            next_ticket: 0,
            statements: Statements::default(),
        };
        for rate in &settings.rates {
            limiter.add(Known { rate: *rate, source: LimitSource::Settings }, Tick::default());
        }
        limiter
    }

    /// What was stated and not told yet.
    pub(crate) fn take_news(&mut self) -> impl Iterator<Item = Known> {
        self.limits.iter_mut().filter_map(Enforced::take_news)
    }

    /// All limits that are known.
    pub(crate) fn limits(&self) -> impl Iterator<Item = Known> {
        self.limits.iter().map(|enforced| enforced.limit)
    }

    /// The limit on requests that lets the fewest through per time.
    pub(crate) fn tightest(&self) -> Option<Rate> {
        let rates = self.limits().map(|limit| limit.rate).filter(|rate| rate.unit == Unit::Requests);
        let weight = |one: &Rate, other: &Rate| u128::from(one.amount) * u128::from(other.window.as_ms());
        rates.min_by(|a, b| weight(a, b).cmp(&weight(b, a)))
    }

    /// When a request with so many tokens may go.
    pub(crate) fn permit(&mut self, now: Tick, tokens: u64) -> Permit {
        let paced = self.last_sent_at.map_or(now, |last| last + self.pace);
        let mut permit = if paced > now { Permit::Wait(paced, None) } else { Permit::Go };
        let mut latest = now.max(paced);
        for enforced in &mut self.limits {
            let rate = enforced.limit.rate;
            if enforced.is_smaller_than(tokens) {
                return Permit::Never(rate);
            }
            let at = enforced.allows_at(now, tokens);
            if at > latest {
                (latest, permit) = (at, Permit::Wait(at, Some(rate)));
            }
        }
        permit
    }

    /// A request goes out.
    pub(crate) fn sent(&mut self, now: Tick, tokens: u64) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.last_sent_at = Some(now);
        self.history.sent(ticket, now, tokens);
        for enforced in &mut self.limits {
            enforced.sent(ticket, now, tokens);
        }
        ticket
    }

    /// A request was answered, and took so many tokens.
    pub(crate) fn answered(&mut self, ticket: Ticket, now: Tick, tokens: Option<u64>) {
        self.history.answered(ticket, now, tokens);
        for enforced in &mut self.limits {
            enforced.answered(ticket, tokens);
        }
    }

    /// A request was refused because of a rate, or is about to be: before its headers are read, which do not count it.
    pub(crate) fn was_refused(&mut self, ticket: Ticket) {
        self.history.refused(ticket);
    }

    /// A request with so many tokens was refused because of a rate. Says whether a limit that is known explains it.
    pub(crate) fn refused(&mut self, ticket: Ticket, tokens: u64, now: Tick) -> bool {
        let mut is_explained = false;
        for enforced in &mut self.limits {
            let cost = enforced.limit.rate.unit.cost(tokens);
            is_explained |= enforced.refused(ticket, cost, now);
        }
        is_explained
    }

    /// A request ended without telling anything about a rate: it weighs nothing.
    pub(crate) fn withdrawn(&mut self, ticket: Ticket) {
        self.history.refused(ticket);
        for enforced in &mut self.limits {
            enforced.withdrawn(ticket);
        }
    }

    /// The next request that will be sent.
    pub(crate) const fn next_ticket(&self) -> Ticket {
        self.next_ticket
    }

    fn add(&mut self, limit: Known, now: Tick) {
        self.limits.push(Enforced::new(limit, self.next_ticket, now, &self.history));
    }
}
