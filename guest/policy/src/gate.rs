//! A circuit breaker for faults of the endpoint: it opens when nobody can be reached, when the endpoint says that it is
//! out for all, and when half of the latest answers are faults. Then all wait, one request goes first, and the documents
//! are not to blame. One fault among answers does not open it.

use crate::time::{Delay, Tick};

/// Who may pass.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    opens_at: Tick,
    probe: Probe,
    /// How often it was closed. A request knows the episode that it was sent in, so that the faults of one moment count as
    /// one.
    episode: u32,
    /// Waves in a row without an answer.
    consecutive_refusals: u32,
    /// The latest answers, a bit each, set for a fault.
    latest: u8,
    /// When the request went that ended in the latest fault: answers to earlier ones tell of the time before.
    faulted_sent_at: Tick,
}

/// The one request that goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Probe {
    /// Nobody needs to.
    #[default]
    Unneeded,
    /// The next request is it.
    Needed,
    /// It is on the wire.
    Out,
}

impl Gate {
    /// When the next request may pass; nothing while a probe is out.
    pub(crate) fn opens_at(&self) -> Option<Tick> {
        (self.probe != Probe::Out).then_some(self.opens_at)
    }

    /// The episode that a request sent now belongs to.
    pub(crate) const fn episode(&self) -> u32 {
        self.episode
    }

    /// Waves in a row without an answer.
    pub(crate) const fn consecutive_refusals(&self) -> u32 {
        self.consecutive_refusals
    }

    /// Whether a request sent in that episode tells something new: the gate was not closed since.
    pub(crate) const fn is_news(&self, episode: u32) -> bool {
        self.episode == episode
    }

    /// A request sent in that episode ended in a fault. Says whether the endpoint is to blame: half of the latest answers
    /// were faults, or it was closed since.
    pub(crate) fn faulted(&mut self, episode: u32, sent_at: Tick) -> bool {
        self.faulted_sent_at = self.faulted_sent_at.max(sent_at);
        self.latest = self.latest << 1 | 1;
        self.latest.count_ones() >= u8::BITS / 2 || !self.is_news(episode)
    }

    /// Whether faults come more than now and then: two of the latest eight answers were.
    pub(crate) const fn is_strained(&self) -> bool {
        self.latest.count_ones() >= 2
    }

    /// All wait, and one request goes first to see whether the endpoint is back; once for each episode.
    pub(crate) fn close(&mut self, episode: u32, now: Tick, wait: Delay) {
        if self.is_news(episode) {
            self.episode = self.episode.wrapping_add(1);
            self.consecutive_refusals = self.consecutive_refusals.saturating_add(1);
            self.probe = Probe::Needed;
        }
        self.opens_at = self.opens_at.max(now + wait);
    }

    /// A request passed.
    pub(crate) fn pass(&mut self) {
        if self.probe == Probe::Needed {
            self.probe = Probe::Out;
        }
    }

    /// A request sent in that episode was answered, or refused because of a rate: the endpoint works.
    pub(crate) fn answered(&mut self, episode: u32, sent_at: Tick) {
        if sent_at >= self.faulted_sent_at {
            self.latest <<= 1;
        }
        if self.is_news(episode) {
            self.consecutive_refusals = 0;
            self.probe = Probe::Unneeded;
        }
    }

    /// A request sent in that episode ended without telling; if it was the probe, another has to go.
    pub(crate) fn inconclusive(&mut self, episode: u32) {
        if self.is_news(episode) && self.probe == Probe::Out {
            self.probe = Probe::Needed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Tick {
        Tick::from_ms(ms)
    }

    #[test]
    fn behind_a_probe_all_wait_for_its_answer() {
        let mut gate = Gate::default();
        gate.close(0, at(0), Delay::from_ms(50));
        gate.pass();
        assert_eq!(gate.opens_at(), None);
        gate.answered(0, at(0));
        assert_eq!(gate.opens_at(), None, "an answer from before the fault tells nothing");
        gate.answered(1, at(50));
        assert_eq!(gate.opens_at(), Some(at(50)));
    }

    #[test]
    fn a_probe_that_fails_is_followed_by_another() {
        let mut gate = Gate::default();
        gate.close(0, at(0), Delay::from_ms(50));
        gate.pass();
        gate.inconclusive(1);
        assert_eq!(gate.opens_at(), Some(at(50)));
        gate.pass();
        assert_eq!(gate.opens_at(), None);
    }

    #[test]
    fn one_fault_among_answers_is_the_documents() {
        let mut gate = Gate::default();
        for _ in 0..20 {
            assert!(!gate.faulted(0, at(1)));
            (0..3).for_each(|_| gate.answered(0, at(1)));
        }
        assert!(!gate.faulted(0, at(1)));
        assert!(!gate.faulted(0, at(1)));
        assert!(gate.faulted(0, at(1)), "three, and one of before, of eight");
    }
}
