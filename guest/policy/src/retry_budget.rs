//! A budget for the retries of faults, shared by all documents: what they add to the load of an endpoint in trouble is
//! bounded, as in Finagle and tower. Refusals are no matter of it: they wait for a gate.

use crate::time::{Delay, Tick};

/// Ten retries a second, and one more for every five answers.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    /// What is there, in thousandths of a retry.
    thousandths: u64,
    filled_at: Tick,
}

impl RetryBudget {
    pub(crate) const fn new() -> Self {
        Self { thousandths: MOST, filled_at: Tick::from_ms(0) }
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self) {
        self.add(PER_ANSWER);
    }

    /// A retry is going to be made. Says how long it has to wait until the budget has room for it.
    pub(crate) fn withdraw(&mut self, now: Tick) -> Delay {
        let passed = now.since(self.filled_at).as_ms();
        self.filled_at = self.filled_at.max(now);
        self.add(passed.saturating_mul(PER_MS));
        let missing = RETRY.saturating_sub(self.thousandths);
        self.thousandths = self.thousandths.saturating_sub(RETRY);
        // What is missing comes in by then, and is spent.
        self.filled_at = self.filled_at + Delay::from_ms(missing.div_ceil(PER_MS));
        self.filled_at.since(now)
    }

    fn add(&mut self, thousandths: u64) {
        self.thousandths = self.thousandths.saturating_add(thousandths).min(MOST);
    }
}

const RETRY: u64 = 1_000;
/// Ten a second.
const PER_MS: u64 = 10;
const PER_ANSWER: u64 = 200;
/// What ten seconds bring.
const MOST: u64 = 100 * RETRY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_a_second_are_free_and_more_have_to_wait() {
        let mut budget = RetryBudget::new();
        assert!((0..100).all(|_| budget.withdraw(Tick::from_ms(0)).is_zero()));
        assert_eq!(budget.withdraw(Tick::from_ms(0)), Delay::from_ms(100));
        assert_eq!(budget.withdraw(Tick::from_ms(0)), Delay::from_ms(200));
        assert_eq!(budget.withdraw(Tick::from_ms(200)), Delay::from_ms(100));
        assert!(budget.withdraw(Tick::from_ms(1_000)).is_zero());
    }

    #[test]
    fn five_answers_are_worth_a_retry() {
        let mut budget = RetryBudget::new();
        (0..100).for_each(|_| _ = budget.withdraw(Tick::from_ms(0)));
        (0..5).for_each(|_| budget.answered());
        assert!(budget.withdraw(Tick::from_ms(0)).is_zero());
        assert!(!budget.withdraw(Tick::from_ms(0)).is_zero());
    }
}
