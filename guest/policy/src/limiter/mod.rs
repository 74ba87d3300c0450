//! When the next request may go so that no limit is passed: limits that were set, else those that the endpoint states,
//! else those that explain its refusals.

mod growth;
mod history;
mod limit;
mod rolling_log;
mod statements;

use alloc::vec;
use alloc::vec::Vec;

use crate::settings::{Rate, Settings, Unit};
use crate::time::{Delay, Tick};

use self::history::{History, USUAL_WINDOWS};
use self::limit::{Enforced, Explanation};
pub use self::limit::{Limit, LimitSource};
pub(crate) use self::rolling_log::Ticket;
use self::statements::Statements;

/// All limits of one key.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Vec<Enforced>,
    history: History,
    pace: Delay,
    first_sent_at: Option<Tick>,
    last_sent_at: Option<Tick>,
    next_ticket: Ticket,
    /// When a request was refused without a hint, while no limit explains it.
    unexplained: Option<Tick>,
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
            first_sent_at: None,
            last_sent_at: None,
            next_ticket: 0,
            unexplained: None,
            statements: Statements::default(),
        };
        for rate in &settings.rates {
            limiter.add(Limit { rate: *rate, source: LimitSource::Settings }, Tick::default());
        }
        limiter
    }

    /// What was learnt and not told yet; what refusals tell only where they have all come.
    pub(crate) fn take_news(&mut self, of_refusals: bool) -> impl Iterator<Item = Limit> {
        self.limits.iter_mut().filter_map(move |enforced| enforced.take_news(of_refusals))
    }

    /// All limits that are known.
    pub(crate) fn limits(&self) -> impl Iterator<Item = Limit> {
        self.limits.iter().map(|enforced| enforced.limit)
    }

    /// When a request with so many tokens may go.
    pub(crate) fn permit(&mut self, now: Tick, tokens: u64) -> Permit {
        let paced = self.last_sent_at.map_or(now, |last| last + self.pace);
        let mut permit = if paced > now { Permit::Wait(paced, None) } else { Permit::Go };
        let mut latest = now.max(paced);
        for enforced in &mut self.limits {
            let rate = enforced.limit.rate;
            match enforced.allows_at(now, self.next_ticket, tokens) {
                None => return Permit::Never(rate),
                Some(at) if at > latest => (latest, permit) = (at, Permit::Wait(at, Some(rate))),
                Some(_) => {}
            }
        }
        permit
    }

    /// A request goes out.
    pub(crate) fn sent(&mut self, now: Tick, tokens: u64) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.first_sent_at.get_or_insert(now);
        self.last_sent_at = Some(now);
        self.history.sent(ticket, now, tokens);
        for enforced in &mut self.limits {
            enforced.sent(ticket, now, tokens);
        }
        ticket
    }

    /// A request was answered, and took so many tokens; so many documents have still to go.
    pub(crate) fn answered(&mut self, ticket: Ticket, now: Tick, tokens: Option<u64>, queued: usize) {
        self.history.answered(ticket, now, tokens);
        for enforced in &mut self.limits {
            enforced.answered(ticket, now, tokens, queued);
        }
        // Those that were on their way then may have been admitted before it: they tell nothing.
        let sent_at = self.history.sent_at(ticket);
        if let Some(refused_at) = self.unexplained.take_if(|refused_at| sent_at > Some(*refused_at)) {
            let rate = self.history.explain_by_answer(refused_at, ticket);
            self.learn(rate, now);
            // Whether refused requests took slots is not known either; what was found holds if they did.
            self.limits.iter_mut().for_each(Enforced::count_refusals);
        }
    }

    /// A request was refused, whatever that means.
    pub(crate) fn was_refused(&mut self, ticket: Ticket, now: Tick) {
        self.history.refused(ticket, now);
    }

    /// A request was refused because of a rate, with the endpoint's hint.
    pub(crate) fn refused(&mut self, ticket: Ticket, hint: Option<Delay>, now: Tick) {
        let mut explanations = vec![];
        for enforced in &mut self.limits {
            explanations.push(enforced.refused(ticket, self.next_ticket, now));
        }
        if self.knows(Unit::Requests) {
            return self.relearn(ticket, &explanations, hint.is_some(), now);
        }
        match hint {
            Some(hint) => self.learn(self.history.explain(hint, now), now),
            None => self.unexplained = self.unexplained.or(Some(now)),
        }
    }

    /// All limits had cleared a request that was refused: what was learnt falls back; what was set or stated holds, but
    /// somebody else takes a part of it, so what is left is learnt beside it.
    fn relearn(&mut self, ticket: Ticket, explanations: &[Explanation], has_hint: bool, now: Tick) {
        let is_old = explanations.contains(&Explanation::Old);
        let is_explained = explanations.contains(&Explanation::RefusalsCount);
        let is_learnt = |enforced: &Enforced| enforced.limit.source == LimitSource::Refusals;
        if let Some(learnt) = self.limits.iter_mut().find(|enforced| is_learnt(enforced)) {
            if is_old && learnt.has_no_evidence(now, &self.history) {
                return self.limits.retain(|enforced| !is_learnt(enforced));
            }
            return match () {
                () if is_old => learnt.discount(ticket, now, &self.history),
                () if is_explained => {}
                () => learnt.fall_back(now, &self.history),
            };
        }
        let known = self.limits.iter().find(|enforced| enforced.limit.rate.unit == Unit::Requests);
        let passes = |known: &&Enforced| has_hint && self.is_young(ticket, known);
        if let Some(known) = known.filter(|known| !is_old && !is_explained && !passes(known)) {
            let share = known.share(self.next_ticket, now, &self.history);
            self.limits.push(share);
        }
    }

    /// Whether a request was sent within the first window: what was sent before the first request of all, by a run that was
    /// broken off a moment ago, may still fill it. That passes: where the endpoint says when, nothing is learnt from it.
    fn is_young(&self, ticket: Ticket, limit: &Enforced) -> bool {
        let window_ends = self.first_sent_at.map(|first| first + limit.limit.rate.window);
        self.history.sent_at(ticket).zip(window_ends).is_some_and(|(sent, ends)| sent < ends)
    }

    /// How long to wait with the next request after a refusal without a hint that no limit explains yet: until the next of
    /// the usual windows has passed since that refusal. By then all that was sent before it has left such a window, and it
    /// itself too, if refused requests count. Nothing, if it is older than all of them.
    pub(crate) fn until_probe(&self, now: Tick) -> Option<Delay> {
        let refused_at = self.unexplained?;
        let mut ends = USUAL_WINDOWS.iter().map(|window| refused_at + *window);
        ends.find(|end| *end >= now + CLOSEST_PROBE).map(|end| end.since(now))
    }

    /// A request was refused for another reason than a rate: it weighs nothing, and nothing is learnt.
    pub(crate) fn withdrawn(&mut self, ticket: Ticket, now: Tick) {
        for enforced in &mut self.limits {
            enforced.withdrawn(ticket, now);
        }
    }

    /// The next request that will be sent.
    pub(crate) const fn next_ticket(&self) -> Ticket {
        self.next_ticket
    }

    /// Whether a limit on requests is known.
    pub(crate) fn is_known(&self) -> bool {
        self.knows(Unit::Requests)
    }

    fn knows(&self, unit: Unit) -> bool {
        self.limits().any(|limit| limit.rate.unit == unit)
    }

    fn learn(&mut self, rate: Option<Rate>, now: Tick) {
        if let Some(rate) = rate.filter(|rate| !rate.window.is_zero() && !self.knows(rate.unit)) {
            self.add(Limit { rate, source: LimitSource::Refusals }, now);
        }
    }

    fn add(&mut self, limit: Limit, now: Tick) {
        self.limits.push(Enforced::new(limit, self.next_ticket, now, &self.history));
    }
}

/// A probe has to be worth its refusal: what ends sooner is not waited for by itself.
const CLOSEST_PROBE: Delay = Delay::from_ms(1_500);
