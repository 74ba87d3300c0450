//! Endpoints that limit exactly: what each admits, and what it says to those that it refuses.

use std::collections::VecDeque;

use becalm_policy::{Delay, Tick};

/// What an endpoint limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// So many in any window of that length.
    Rolling { amount: u64, window: Delay },
    /// So many from one multiple of the window to the next.
    Fixed { amount: u64, window: Delay },
    /// A bucket of `burst` that `amount` per window flow into, evenly.
    Bucket { amount: u64, window: Delay, burst: u64 },
    /// So many at one time.
    Places(usize),
    /// Nothing.
    Unlimited,
}

/// What a refusal says about waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hinting {
    /// When the next is admitted, in milliseconds.
    Exact,
    /// The same, in whole seconds.
    RoundedUp,
    /// Nothing.
    Silent,
}

/// An endpoint at work.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) model: Model,
    pub(crate) hinting: Hinting,
    /// Those that were admitted and still count, oldest first.
    admitted: VecDeque<Tick>,
    /// What the bucket lacks, in requests times milliseconds of the window, at that time.
    lacking: (u64, Tick),
    on_it: usize,
}

impl Model {
    /// How many it admits per how much time.
    pub(crate) const fn rate(self) -> Option<(u64, Delay)> {
        match self {
            Self::Rolling { amount, window } | Self::Fixed { amount, window } | Self::Bucket { amount, window, .. } => {
                Some((amount, window))
            }
            Self::Places(_) | Self::Unlimited => None,
        }
    }

    /// The same limit so many times over; without a factor, none at all.
    pub(crate) const fn times(self, factor: Option<u64>) -> Self {
        let Some(factor) = factor else { return Self::Unlimited };
        match self {
            Self::Rolling { amount, window } => Self::Rolling { amount: amount * factor, window },
            Self::Fixed { amount, window } => Self::Fixed { amount: amount * factor, window },
            Self::Bucket { amount, window, burst } => {
                Self::Bucket { amount: amount * factor, window, burst: burst * factor }
            }
            Self::Places(places) => Self::Places(places * factor as usize),
            Self::Unlimited => Self::Unlimited,
        }
    }
}

impl Endpoint {
    pub(crate) const fn new(model: Model, hinting: Hinting) -> Self {
        Self { model, hinting, admitted: VecDeque::new(), lacking: (0, Tick::from_ms(0)), on_it: 0 }
    }

    /// A request arrives. It is admitted, or told to come again after so long.
    pub(crate) fn meet(&mut self, now: Tick) -> Result<(), Delay> {
        let wait = self.wait(now);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.on_it += 1;
        match self.model {
            Model::Rolling { .. } | Model::Fixed { .. } => self.admitted.push_back(now),
            Model::Bucket { window, .. } => self.lacking.0 += window.as_ms(),
            Model::Places(_) | Model::Unlimited => {}
        }
        Ok(())
    }

    /// An admitted request was answered.
    pub(crate) const fn leave(&mut self) {
        self.on_it -= 1;
    }

    /// What the refusal's `Retry-After-Ms` says.
    pub(crate) fn hint(&self, wait: Delay) -> Option<Delay> {
        match self.hinting {
            _ if matches!(self.model, Model::Places(_)) => None,
            Hinting::Silent => None,
            Hinting::Exact => Some(wait),
            Hinting::RoundedUp => Some(Delay::from_secs(wait.as_ms().div_ceil(1_000))),
        }
    }

    fn wait(&mut self, now: Tick) -> Delay {
        match self.model {
            Model::Rolling { amount, window } => {
                while self.admitted.front().is_some_and(|at| *at + window <= now) {
                    self.admitted.pop_front();
                }
                let excess = (self.admitted.len() as u64 + 1).saturating_sub(amount);
                excess.checked_sub(1).map_or(Delay::ZERO, |index| (self.admitted[index as usize] + window).since(now))
            }
            Model::Fixed { amount, window } => {
                let began = Tick::from_ms(now.as_ms() - now.as_ms() % window.as_ms());
                while self.admitted.front().is_some_and(|at| *at < began) {
                    self.admitted.pop_front();
                }
                let is_full = self.admitted.len() as u64 >= amount;
                if is_full { (began + window).since(now) } else { Delay::ZERO }
            }
            Model::Bucket { amount, window, burst } => {
                let flown = now.since(self.lacking.1).as_ms().saturating_mul(amount);
                self.lacking = (self.lacking.0.saturating_sub(flown), now);
                let most = (burst - 1) * window.as_ms();
                Delay::from_ms(self.lacking.0.saturating_sub(most).div_ceil(amount))
            }
            Model::Places(places) => Delay::from_ms(u64::from(self.on_it >= places)),
            Model::Unlimited => Delay::ZERO,
        }
    }
}
