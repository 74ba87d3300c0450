//! So many in each of a row of windows: by the wall clock, or each from the first request on.

use super::decision::{Budget, Limiter};

#[derive(Debug)]
pub(super) struct Fixed {
    amount: u64,
    window: f64,
    start: Start,
    counts_refused: bool,
    end: Option<f64>,
    used: u64,
}

#[derive(Debug)]
enum Start {
    /// The first window has run for so long at time zero.
    Clock(f64),
    FirstRequest,
}

impl Fixed {
    pub(super) const fn clock(amount: u64, window: f64, phase: f64) -> Self {
        Self { amount, window, start: Start::Clock(phase), counts_refused: false, end: None, used: 0 }
    }

    pub(super) const fn first(amount: u64, window: f64, counts_refused: bool) -> Self {
        Self { amount, window, start: Start::FirstRequest, counts_refused, end: None, used: 0 }
    }

    fn forget(&mut self, now: f64) {
        let end = match self.start {
            Start::Clock(phase) => Some((((now + phase) / self.window).floor() + 1.0) * self.window - phase),
            Start::FirstRequest => self.end.filter(|end| now < *end),
        };
        if end != self.end {
            self.end = end;
            self.used = 0;
        }
    }
}

impl Limiter for Fixed {
    fn opens_at(&mut self, now: f64, _tokens: u64) -> f64 {
        self.forget(now);
        self.end.filter(|_| self.used >= self.amount).unwrap_or(now)
    }

    fn admit(&mut self, now: f64, _tokens: u64) {
        self.forget(now);
        self.end.get_or_insert(now + self.window);
        self.used += 1;
    }

    fn refuse(&mut self, _now: f64, _tokens: u64) {
        self.used += u64::from(self.counts_refused);
    }

    fn budget(&mut self, now: f64) -> Option<Budget> {
        self.forget(now);
        let end_ms = self.end.map_or(self.window, |end| end - now);
        let remaining = self.amount.saturating_sub(self.used);
        let slot_ms = if remaining == 0 { end_ms } else { 0.0 };
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
    fn windows_follow_the_clock() {
        let mut limiter = Fixed::clock(1, 1_000.0, 250.0);
        limiter.admit(700.0, 1);
        assert_eq!(limiter.opens_at(700.0, 1), 750.0);
        assert_eq!(limiter.opens_at(750.0, 1), 750.0);
        limiter.admit(750.0, 1);
        assert_eq!(limiter.opens_at(751.0, 1), 1_750.0);
    }

    #[test]
    fn windows_start_with_the_first_request() {
        let mut limiter = Fixed::first(1, 1_000.0, false);
        assert_eq!(limiter.opens_at(400.0, 1), 400.0);
        limiter.admit(400.0, 1);
        assert_eq!(limiter.opens_at(500.0, 1), 1_400.0);
        limiter.admit(1_900.0, 1);
        assert_eq!(limiter.opens_at(1_900.0, 1), 2_900.0);
    }
}
