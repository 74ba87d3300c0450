//! Two limits, of which each has to admit. The first is the one that headers speak of, the second the one that changes.

use super::decision::{Budget, Limiter};
use super::rolling::Rolling;

#[derive(Debug)]
pub(super) struct Both(pub(super) Rolling, pub(super) Rolling);

impl Limiter for Both {
    fn opens_at(&mut self, now: f64, tokens: u64) -> f64 {
        self.0.opens_at(now, tokens).max(self.1.opens_at(now, tokens))
    }

    fn admit(&mut self, now: f64, tokens: u64) {
        self.0.admit(now, tokens);
        self.1.admit(now, tokens);
    }

    fn refuse(&mut self, now: f64, tokens: u64) {
        self.0.refuse(now, tokens);
        self.1.refuse(now, tokens);
    }

    fn budget(&mut self, now: f64) -> Option<Budget> {
        self.0.budget(now)
    }

    fn scale(&mut self, factor: f64) {
        self.1.scale(factor);
    }
}
