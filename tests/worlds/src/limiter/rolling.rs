//! So much in any window of a length.

use std::collections::VecDeque;

use super::decision::{Budget, Limiter};

#[derive(Debug)]
pub(super) struct Rolling {
    amount: u64,
    window: f64,
    counts_refused: bool,
    counts_tokens: bool,
    /// When, and what it cost; the oldest first.
    log: VecDeque<(f64, u64)>,
    used: u64,
}

impl Rolling {
    pub(super) fn requests(amount: u64, window: f64, counts_refused: bool) -> Self {
        Self { amount, window, counts_refused, counts_tokens: false, log: VecDeque::new(), used: 0 }
    }

    pub(super) fn tokens(amount: u64, window: f64) -> Self {
        Self { counts_tokens: true, ..Self::requests(amount, window, false) }
    }

    const fn cost(&self, tokens: u64) -> u64 {
        if self.counts_tokens { tokens } else { 1 }
    }

    fn forget(&mut self, now: f64) {
        while let Some((_, cost)) = self.log.pop_front_if(|(at, _)| *at <= now - self.window) {
            self.used -= cost;
        }
    }

    /// When so much of what is used will be forgotten.
    fn frees(&self, mut needed: u64) -> f64 {
        if !self.counts_tokens {
            return self.log.get(needed as usize - 1).map_or(f64::INFINITY, |(at, _)| at + self.window);
        }
        for (at, cost) in &self.log {
            needed = needed.saturating_sub(*cost);
            if needed == 0 {
                return at + self.window;
            }
        }
        f64::INFINITY
    }

    fn take(&mut self, now: f64, tokens: u64) {
        let cost = self.cost(tokens);
        self.log.push_back((now, cost));
        self.used += cost;
    }
}

impl Limiter for Rolling {
    fn opens_at(&mut self, now: f64, tokens: u64) -> f64 {
        self.forget(now);
        match (self.used + self.cost(tokens)).saturating_sub(self.amount) {
            0 => now,
            needed => self.frees(needed),
        }
    }

    fn admit(&mut self, now: f64, tokens: u64) {
        self.take(now, tokens);
    }

    fn refuse(&mut self, now: f64, tokens: u64) {
        if self.counts_refused {
            self.take(now, tokens);
        }
    }

    fn budget(&mut self, now: f64) -> Option<Budget> {
        self.forget(now);
        let remaining = self.amount.saturating_sub(self.used);
        let until = |entry: Option<&(f64, u64)>| entry.map_or(0.0, |(at, _)| at + self.window - now);
        let end_ms = until(self.log.front());
        let slot_ms = if remaining == 0 { end_ms } else { 0.0 };
        Some(Budget { amount: self.amount, remaining, end_ms, slot_ms, full_ms: until(self.log.back()) })
    }

    fn scale(&mut self, factor: f64) {
        self.amount = ((self.amount as f64 * factor) as u64).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_may_go_when_the_oldest_is_a_window_old() {
        let mut limiter = Rolling::requests(2, 1_000.0, false);
        limiter.admit(0.0, 1);
        limiter.admit(300.0, 1);
        assert_eq!(limiter.opens_at(400.0, 1), 1_000.0);
        assert_eq!(limiter.opens_at(1_000.0, 1), 1_000.0);
        limiter.admit(1_000.0, 1);
        assert_eq!(limiter.opens_at(1_000.0, 1), 1_300.0);
    }

    #[test]
    fn refused_requests_may_count() {
        let mut limiter = Rolling::requests(1, 1_000.0, true);
        limiter.admit(0.0, 1);
        limiter.refuse(400.0, 1);
        assert_eq!(limiter.opens_at(400.0, 1), 1_400.0);
    }

    #[test]
    fn tokens_are_freed_until_there_are_enough() {
        let mut limiter = Rolling::tokens(100, 1_000.0);
        limiter.admit(0.0, 30);
        limiter.admit(100.0, 60);
        assert_eq!(limiter.opens_at(200.0, 10), 200.0);
        assert_eq!(limiter.opens_at(200.0, 40), 1_000.0);
        assert_eq!(limiter.opens_at(200.0, 41), 1_100.0);
    }

    #[test]
    fn the_budget_is_what_headers_say() {
        let mut limiter = Rolling::requests(2, 1_000.0, false);
        limiter.admit(0.0, 1);
        limiter.admit(300.0, 1);
        let budget = Budget { amount: 2, remaining: 0, end_ms: 600.0, slot_ms: 600.0, full_ms: 900.0 };
        assert_eq!(limiter.budget(400.0), Some(budget));
    }
}
