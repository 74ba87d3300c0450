//! What the endpoint states of its limits: with their windows, or as budgets from which the window follows.

use super::Limiter;
use super::history::usual_near;
use super::limit::{Enforced, Known};
use super::statements::Statements;
use crate::belief::LimitSource;
use crate::hints::Budget;
use crate::learner::Ticket;
use crate::settings::{Rate, Unit};
use crate::time::{Delay, Tick};

impl Limiter {
    /// The endpoint states a budget with its answer to a request; nothing comes of it where it does not say enough.
    pub(crate) fn observe(&mut self, budget: &Budget, ticket: Ticket, now: Tick) -> Option<()> {
        let unit = budget.unit?;
        let amount = budget.amount.filter(|amount| *amount > 0)?;
        let used = amount.checked_sub(budget.remaining?)?;
        let Statements { seen, distrusted, exact } = &mut self.statements;
        let is_first = !seen.contains(&unit);
        if is_first {
            seen.push(unit);
        }
        // More than we ever sent: others use the key, or it is no window that is stated. Then refusals have to tell.
        if is_first && self.history.oldest_of(unit, used, ticket).is_none() {
            distrusted.push(unit);
        }
        if distrusted.contains(&unit) || exact.contains(&unit) {
            return None;
        }
        let window = self.window(budget, unit, used, ticket, now);
        let is_stated = |enforced: &&mut Enforced| enforced.limit.rate.unit == unit;
        let known = self.limits.iter_mut().find(is_stated);
        if let Some(enforced) = known.filter(|enforced| unit == Unit::Tokens && enforced.limit.rate.amount == amount)
            && let Some((reserved, settled)) = self.history.tokens_at(ticket, enforced.limit.rate.window)
        {
            enforced.compare(used, reserved, settled);
        }
        match self.limits.iter_mut().find(is_stated) {
            Some(enforced) if enforced.limit.source == LimitSource::Settings => {}
            Some(enforced) => enforced.restate(amount, window, budget.reset.unwrap_or_default()),
            None => {
                let rate = Rate { unit, amount, window: window? };
                self.limits.retain(|enforced| enforced.limit.rate.unit != unit);
                self.add(Known { rate, source: LimitSource::Headers }, now);
            }
        }
        Some(())
    }

    /// The endpoint states a limit with its window.
    pub(crate) fn state(&mut self, rate: Rate, now: Tick) {
        let Rate { unit, window, .. } = rate;
        let is_set = |limit: Known| limit.rate.unit == unit && limit.source == LimitSource::Settings;
        if self.limits().any(is_set) {
            return;
        }
        let exact = &mut self.statements.exact;
        if !exact.contains(&unit) {
            exact.push(unit);
            self.limits.retain(|enforced| enforced.limit.rate.unit != unit);
        }
        let has_room = self.limits.len() < MOST_STATED;
        let same = |enforced: &&mut Enforced| {
            let Known { rate, source } = enforced.limit;
            (rate.unit, rate.window, source) == (unit, window, LimitSource::Headers)
        };
        match self.limits.iter_mut().find(same) {
            Some(enforced) => enforced.restate(rate.amount, None, Delay::ZERO),
            None if has_room => self.add(Known { rate, source: LimitSource::Headers }, now),
            None => {}
        }
    }

    /// The window behind a stated budget: from the oldest request that it counts to its reset, as seen when the request was
    /// sent that it came with: it was counted soon after, however long its answer took.
    fn window(&self, budget: &Budget, unit: Unit, used: u64, ticket: Ticket, now: Tick) -> Option<Delay> {
        let oldest = self.history.oldest_of(unit, used, ticket)?;
        let counted = self.history.sent_at(ticket).unwrap_or(now);
        budget.reset.filter(|reset| !reset.is_zero()).map(|reset| usual_near(reset + counted.since(oldest)))
    }
}

/// An endpoint that states another limit with every answer must not make the search for a slot slow.
const MOST_STATED: usize = 16;
