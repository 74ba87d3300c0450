//! A token bucket; the generic cell rate algorithm is one too.

use super::decision::{Budget, Limiter, ROUNDING};

#[derive(Debug)]
pub(super) struct Bucket {
    /// What headers call the limit.
    amount: u64,
    /// Requests per millisecond.
    rate: f64,
    burst: f64,
    level: f64,
    filled_at: f64,
}

impl Bucket {
    pub(super) const fn new(amount: u64, window: f64, burst: u64) -> Self {
        Self { amount, rate: amount as f64 / window, burst: burst as f64, level: burst as f64, filled_at: 0.0 }
    }

    fn fill(&mut self, now: f64) {
        self.level = self.burst.min(self.level + (now - self.filled_at) * self.rate);
        self.filled_at = now;
    }
}

impl Limiter for Bucket {
    fn opens_at(&mut self, now: f64, _tokens: u64) -> f64 {
        self.fill(now);
        let missing = (1.0 - self.level) / self.rate;
        if missing <= ROUNDING { now } else { now + missing }
    }

    fn admit(&mut self, now: f64, _tokens: u64) {
        self.fill(now);
        self.level -= 1.0;
    }

    fn refuse(&mut self, _now: f64, _tokens: u64) {}

    fn budget(&mut self, now: f64) -> Option<Budget> {
        self.fill(now);
        let full_ms = (self.burst - self.level) / self.rate;
        let slot_ms = ((1.0 - self.level) / self.rate).max(0.0);
        Some(Budget { amount: self.amount, remaining: self.level as u64, end_ms: full_ms, slot_ms, full_ms })
    }

    fn scale(&mut self, factor: f64) {
        self.rate *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_burst_there_is_one_for_each_slot() {
        let mut limiter = Bucket::new(10, 1_000.0, 3);
        for _ in 0..3 {
            assert_eq!(limiter.opens_at(50.0, 1), 50.0);
            limiter.admit(50.0, 1);
        }
        for slot in 1..50 {
            let opens = limiter.opens_at(f64::from(slot) * 100.0 - 50.0, 1);
            assert!((opens - f64::from(slot) * 100.0 - 50.0).abs() < ROUNDING, "{opens}");
            assert_eq!(limiter.opens_at(f64::from(slot) * 100.0 + 50.0, 1), f64::from(slot) * 100.0 + 50.0);
            limiter.admit(f64::from(slot) * 100.0 + 50.0, 1);
        }
    }
}
