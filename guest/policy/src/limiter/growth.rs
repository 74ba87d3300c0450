//! How a learnt limit finds out that there is room for more: after clean windows it tries a little more; each try that is
//! not refused is followed by one twice as large, each that is refused makes the next one rarer.

use crate::settings::Rate;
use crate::time::{Delay, Tick};

/// The tries of one limit.
#[derive(Debug)]
pub(crate) struct Growth {
    /// Nothing was refused, and nothing tried, since then.
    clean_since: Tick,
    /// Whether the limit held anything back since then: else more would change nothing.
    was_full: bool,
    /// Tries that were refused.
    failures: u32,
    /// The rate before the try that is on, and its size.
    trying: Option<(Rate, u64)>,
}

impl Growth {
    pub(crate) const fn new(now: Tick) -> Self {
        Self { clean_since: now, was_full: false, failures: 0, trying: None }
    }

    /// The limit holds something back.
    pub(crate) const fn full(&mut self) {
        self.was_full = true;
    }

    pub(crate) const fn is_trying(&self) -> bool {
        self.trying.is_some()
    }

    /// A little more than this rate, if it is time for that.
    pub(crate) fn grow(&mut self, rate: Rate, now: Tick) -> Option<Rate> {
        let windows = if self.is_trying() { 1 } else { FIRST_CLEAN };
        let clean = rate.window.times(windows).max(SHORTEST_CLEAN).times(1 << (2 * self.failures.min(MOST_RARER)));
        if !self.was_full || now.since(self.clean_since) < clean {
            return None;
        }
        let steps = self.trying.map_or(1, |(_, steps)| 2 * steps);
        *self = Self { clean_since: now, was_full: false, trying: Some((rate, steps)), ..*self };
        Some(more(rate, steps))
    }

    /// A request was refused. Returns the rate before the try that is on, if one is.
    pub(crate) fn fail(&mut self, now: Tick) -> Option<Rate> {
        let before = self.trying.map(|(rate, _)| rate);
        let failures = self.failures + u32::from(before.is_some());
        *self = Self { failures, ..Self::new(now) };
        before
    }
    /// The limit fell: what was tried above it is no longer known to be too much.
    pub(crate) const fn fell(&mut self) {
        self.failures = 0;
    }
}

/// So many steps more: each is one more per window; where that would be much, the same in a window shorter by an eighth.
fn more(rate: Rate, steps: u64) -> Rate {
    match rate.amount {
        0..FEW => Rate { window: rate.window - rate.window.times(steps.min(4)).divided_by(8), ..rate },
        amount => Rate { amount: amount.saturating_add(steps), ..rate },
    }
}

/// Below this one more would be a jump of more than an eighth.
const FEW: u64 = 8;
/// Clean windows before the first try. With two, the reference job takes 305 s instead of 249 s where refused requests take
/// slots.
const FIRST_CLEAN: u64 = 4;
/// A short window is clean soon; tries that are refused cost more than they bring.
const SHORTEST_CLEAN: Delay = Delay::from_secs(60);
/// Each try that is refused makes the next four times as rare, but tries do not end.
const MOST_RARER: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Unit;

    const TEN: Rate = Rate { unit: Unit::Requests, amount: 10, window: Delay::from_secs(60) };

    fn at(secs: u64) -> Tick {
        Tick::from_ms(secs * 1_000)
    }

    fn grown(growth: &mut Growth, rate: Rate, secs: u64) -> Option<Rate> {
        growth.full();
        growth.grow(rate, at(secs))
    }

    #[test]
    fn tries_that_succeed_become_larger() {
        let mut growth = Growth::new(at(0));
        assert_eq!(growth.grow(TEN, at(1_000)), None, "it was never full");
        assert_eq!(grown(&mut growth, TEN, 239), None);
        let eleven = grown(&mut growth, TEN, 240).unwrap();
        assert_eq!(eleven.amount, 11);
        assert_eq!(grown(&mut growth, eleven, 300).unwrap().amount, 13);
    }

    #[test]
    fn a_try_that_is_refused_makes_the_next_one_rarer() {
        let mut growth = Growth::new(at(0));
        grown(&mut growth, TEN, 240).unwrap();
        assert_eq!(growth.fail(at(240)), Some(TEN));
        assert_eq!(growth.fail(at(241)), None, "nothing was tried");
        assert_eq!(grown(&mut growth, TEN, 1_200), None);
        assert!(grown(&mut growth, TEN, 1_201).is_some());
    }

    #[test]
    fn of_few_one_more_would_be_too_much() {
        let one = Rate { amount: 1, window: Delay::from_secs(8), ..TEN };
        assert_eq!(more(one, 1).window, Delay::from_secs(7));
        assert_eq!(more(one, 100).window, Delay::from_secs(4));
    }
}
