//! Chance: full jitter without a hint, spread on top of one. The only source of it is the seed.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::settings::Settings;
use crate::time::Delay;

/// Draws waits.
#[derive(Debug)]
pub(crate) struct Backoff {
    random: Xoshiro256PlusPlus,
    base: Delay,
    cap: Delay,
    jitter: Delay,
}

impl Backoff {
    pub(crate) fn new(settings: &Settings, seed: u64) -> Self {
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            base: settings.base,
            cap: settings.cap,
            jitter: settings.jitter,
        }
    }

    /// U(0, min(cap, base · 2^n)), "full jitter", after n earlier misses in a row; never nothing, so that a hot loop
    /// cannot come of it.
    pub(crate) fn full_jitter(&mut self, n: u32) -> Delay {
        let step = self.base.times(1 << n.min(MOST_DOUBLINGS)).min(self.cap);
        self.up_to(step).max(Delay::from_ms(1))
    }

    /// U(0, jitter), to be added to a hinted wait; at most a quarter of a short one, which would be doubled by it. Without a
    /// hint a look is quick: then it is a moment.
    pub(crate) fn spread(&mut self, hint: Option<Delay>) -> Delay {
        self.up_to(hint.map_or(MOMENT, |hint| self.most_spread(hint)))
    }

    /// The largest of them.
    pub(crate) fn most_spread(&self, hint: Delay) -> Delay {
        self.jitter.min(hint.divided_by(4))
    }

    fn up_to(&mut self, most: Delay) -> Delay {
        Delay::from_ms(self.random.random_range(0..=most.as_ms()))
    }
}

const MOMENT: Delay = Delay::from_ms(50);
/// A day is 2^27 ms: more doublings change nothing.
const MOST_DOUBLINGS: u32 = 30;
