//! How a world went, and what that is worth.

use crate::schedule::Schedule;

/// How a world went. Only good documents count, those that are not refused whatever happens.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// When what happened.
    pub schedule: Schedule,
    /// Good documents.
    pub documents: usize,
    /// When each answer came, in milliseconds.
    pub answered_at_ms: Vec<u64>,
    /// How many failed or were postponed.
    pub lost: usize,
    /// How often they were refused.
    pub refusals: u64,
    /// Requests sent, those for bad documents included.
    pub sent: u64,
    /// The policy did what it must not.
    pub failure: Option<String>,
}

impl Played {
    /// Good documents that were neither answered nor lost.
    pub const fn unfinished(&self) -> usize {
        self.documents - self.answered_at_ms.len() - self.lost
    }

    /// When the last answer came.
    pub fn took_ms(&self) -> u64 {
        self.answered_at_ms.last().copied().unwrap_or(0)
    }

    /// The clairvoyant's time by the time that it took, times the share that was answered.
    pub fn efficiency(&self) -> f64 {
        if self.failure.is_some() || self.answered_at_ms.is_empty() {
            return 0.0;
        }
        let took_ms = if self.unfinished() == 0 { self.took_ms() } else { self.cutoff_ms() };
        let most = if self.lost == 0 { MOST_EFFICIENT } else { 1.0 };
        let share = self.answered_at_ms.len() as f64 / self.documents as f64;
        (self.schedule.ideal_ms as f64 / took_ms as f64).min(most) * share
    }

    /// Refusals for each hundred documents.
    pub fn refusals_per_100(&self) -> f64 {
        100.0 * self.refusals as f64 / self.documents as f64
    }

    /// When nobody waits any more.
    pub(crate) const fn cutoff_ms(&self) -> u64 {
        30 * self.schedule.ideal_ms + 300_000
    }
}

/// More than 1 is luck, quicker answers than the clairvoyant's; or it is documents that were lost, which is worth nothing.
const MOST_EFFICIENT: f64 = 1.2;
