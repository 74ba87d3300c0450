//! The previous window, weighted by what of it is left, and the current one. With refused requests counted it is haproxy's
//! frequency counter.

use super::decision::{Budget, Limiter};

#[derive(Debug)]
pub(super) struct Counter {
    amount: u64,
    window: f64,
    /// How long the first window has run at time zero.
    phase: f64,
    counts_refused: bool,
    /// The current window's number.
    number: f64,
    current: u64,
    previous: u64,
}

impl Counter {
    pub(super) const fn new(amount: u64, window: f64, phase: f64, counts_refused: bool) -> Self {
        Self { amount, window, phase, counts_refused, number: 0.0, current: 0, previous: 0 }
    }

    fn forget(&mut self, now: f64) {
        let number = ((now + self.phase) / self.window).floor();
        if number > self.number {
            self.previous = if number == self.number + 1.0 { self.current } else { 0 };
            self.current = 0;
            self.number = number;
        }
    }

    /// The share of a window after which one more fits, with such counts.
    fn share(&self, previous: u64, current: u64) -> Option<f64> {
        let room = self.amount.checked_sub(current + 1)?;
        let share = 1.0 - room as f64 / previous.max(1) as f64;
        Some(if previous == 0 { 0.0 } else { share.max(0.0) })
    }
}

impl Limiter for Counter {
    fn opens_at(&mut self, now: f64, _tokens: u64) -> f64 {
        self.forget(now);
        let start = self.number * self.window - self.phase;
        if let Some(share) = self.share(self.previous, self.current) {
            return now.max(start + share * self.window);
        }
        // In the next window there is room at its end at the latest.
        let share = self.share(self.current, 0).unwrap_or(1.0);
        start + (1.0 + share) * self.window
    }

    fn admit(&mut self, now: f64, _tokens: u64) {
        self.forget(now);
        self.current += 1;
    }

    fn refuse(&mut self, _now: f64, _tokens: u64) {
        self.current += u64::from(self.counts_refused);
    }

    fn budget(&mut self, now: f64) -> Option<Budget> {
        let slot_ms = self.opens_at(now, 1) - now;
        let passed = (now + self.phase) / self.window - self.number;
        let used = self.previous as f64 * (1.0 - passed).max(0.0) + self.current as f64;
        let end_ms = (1.0 - passed) * self.window;
        let remaining = (self.amount as f64 - used).max(0.0) as u64;
        Some(Budget { amount: self.amount, remaining, end_ms, slot_ms, full_ms: end_ms })
    }

    fn scale(&mut self, factor: f64) {
        self.amount = ((self.amount as f64 * factor) as u64).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_previous_window_fades() {
        let mut limiter = Counter::new(4, 1_000.0, 0.0, false);
        for _ in 0..4 {
            limiter.admit(0.0, 1);
        }
        // 4 · (1 − 0.25) + 0 + 1 = 4
        assert_eq!(limiter.opens_at(10.0, 1), 1_250.0);
        limiter.admit(1_250.0, 1);
        assert_eq!(limiter.opens_at(1_250.0, 1), 1_500.0);
        assert_eq!(limiter.opens_at(3_000.0, 1), 3_000.0);
    }

    #[test]
    fn refused_requests_may_count() {
        let mut limiter = Counter::new(1, 1_000.0, 0.0, true);
        limiter.admit(0.0, 1);
        limiter.refuse(1.0, 1);
        assert_eq!(limiter.opens_at(1.0, 1), 2_000.0);
    }
}
