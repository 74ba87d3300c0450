//! No limit.

use super::decision::{Budget, Limiter};

#[derive(Debug)]
pub(super) struct Unlimited;

impl Limiter for Unlimited {
    fn opens_at(&mut self, now: f64, _tokens: u64) -> f64 {
        now
    }

    fn admit(&mut self, _now: f64, _tokens: u64) {}

    fn refuse(&mut self, _now: f64, _tokens: u64) {}

    fn budget(&mut self, _now: f64) -> Option<Budget> {
        None
    }

    fn scale(&mut self, _factor: f64) {}
}
