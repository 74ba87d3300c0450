//! Chance. Every draw belongs to a seed, a purpose and a number, so that it does not depend on what else was drawn before.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// One stream of draws.
#[derive(Clone, Debug)]
pub(crate) struct Draws(Xoshiro256PlusPlus);

/// What draws are for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    World,
    Documents,
    Strangers,
    Faults,
    There,
    Back,
    Service,
    IdealService,
}

impl Draws {
    pub(crate) fn of(seed: u64, purpose: Purpose) -> Self {
        Self::numbered(seed, purpose, 0)
    }

    /// The draws of the request of that number.
    pub(crate) fn numbered(seed: u64, purpose: Purpose, number: u64) -> Self {
        let mixed = seed.wrapping_mul(SPREAD).wrapping_add(purpose as u64).wrapping_mul(SPREAD).wrapping_add(number);
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// From 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.random()
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Log-uniform: every doubling is as likely as every other.
    pub(crate) fn log_between(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    pub(crate) fn happens(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.random_range(0..choices.len())]
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Of median 1, by Box and Muller.
    pub(crate) fn log_normal(&mut self, sigma: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        (sigma * radius * (std::f64::consts::TAU * self.unit()).cos()).exp()
    }
}

/// 2^64 by the golden ratio, odd: neighbouring seeds end up far apart.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
