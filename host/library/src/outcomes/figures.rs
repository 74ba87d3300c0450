//! What a run came to, in figures.

use std::time::Duration;

use super::shortfall::Shortfall;
use crate::contract::{Event, Failure, Happening, Refusal, Verdict};

/// The figures of a run, added up event by event.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Documents that were answered.
    pub answered: u64,
    /// Documents that failed.
    pub failed: u64,
    /// Documents that were put off.
    pub postponed: u64,
    /// The earliest instant that a postponed document names.
    pub until_epoch_ms: Option<u64>,
    /// Documents that were refused at least once and answered in the end.
    pub recovered: u64,
    /// Answers of which something is missing, in the order of [`Shortfall::ALL`].
    pub shortfalls: [u64; 3],
    /// Tries that ended in a fault.
    pub faults: u64,
    /// The failure that ended the batch early.
    pub halted: Option<Failure>,
    /// The first failure of each kind, in words.
    pub failures: Vec<Failure>,
    waits_ms: Vec<u64>,
    jitters_ms: Vec<u64>,
}

impl Figures {
    /// Takes an event in.
    pub fn add(&mut self, event: &Event) {
        match &event.what {
            Happening::Outcome(outcome) => {
                self.faults += u64::from(outcome.attempts.saturating_sub(outcome.refusals).saturating_sub(1));
                match &outcome.verdict {
                    Verdict::Answered(answer) => {
                        self.answered += 1;
                        if let Some(shortfall) = Shortfall::of(answer) {
                            self.shortfalls[shortfall as usize] += 1;
                        }
                        self.recovered += u64::from(outcome.refusals > 0);
                    }
                    Verdict::Failed(failure) => self.add_failure(failure),
                    Verdict::Postponed(postponement) => {
                        self.postponed += 1;
                        self.until_epoch_ms = self.until_epoch_ms.into_iter().chain(postponement.until).min();
                    }
                }
            }
            Happening::Refused(refusal) => self.add_refusal(refusal),
            Happening::Halted(failure) => self.halted = Some(failure.clone()),
            _ => {}
        }
    }

    /// Requests that were refused.
    pub fn refusals(&self) -> u64 {
        self.waits_ms.len() as u64
    }

    /// The wait that so many of a hundred refusals stayed within; absent without a refusal.
    pub fn wait(&self, percent: usize) -> Option<Duration> {
        let mut waits = self.waits_ms.clone();
        waits.sort_unstable();
        percentile(&waits, percent).map(Duration::from_millis)
    }

    /// The smallest and the largest jitter.
    pub fn jitter(&self) -> Option<(Duration, Duration)> {
        let least = self.jitters_ms.iter().min()?;
        let most = self.jitters_ms.iter().max()?;
        Some((Duration::from_millis(*least), Duration::from_millis(*most)))
    }

    fn add_failure(&mut self, failure: &Failure) {
        self.failed += 1;
        if self.failures.iter().all(|known| known.kind != failure.kind) {
            self.failures.push(Failure { body: None, ..failure.clone() });
        }
    }

    fn add_refusal(&mut self, refusal: &Refusal) {
        self.waits_ms.push(refusal.wait);
        self.jitters_ms.push(refusal.jitter);
    }
}

/// The value that so many of a hundred stay within, by nearest rank; absent if there are none. They must be sorted.
pub fn percentile<Value: Copy>(sorted: &[Value], percent: usize) -> Option<Value> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_nearest_rank() {
        assert_eq!(percentile(&[1, 2, 3, 4], 50), Some(2));
        assert_eq!(percentile(&[1, 2, 3, 4], 95), Some(4));
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile::<u64>(&[], 50), None);
    }
}
