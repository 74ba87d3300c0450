//! The one gate for the whole key. A refusal closes it for every document, and so does an endpoint that cannot be reached;
//! nothing can make it open earlier. After an unknown limit one request goes first when it opens: without that, C workers
//! make C refusals of one.

use crate::time::{Delay, Tick};

/// Who may pass.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    opens_at: Tick,
    probe: Probe,
    /// How often it was closed. A request knows the wave that it was sent in, so that the refusals of one burst count as
    /// one.
    wave: u32,
    /// Waves in a row without an answer.
    streak: u32,
    /// Whether it was a refusal that closed it.
    is_refused: bool,
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
    /// It was answered: so many more may follow before one of them is answered too.
    Few(u8),
}

impl Gate {
    /// When the next request may pass; nothing while a probe is out.
    pub(crate) fn opens_at(&self) -> Option<Tick> {
        (!matches!(self.probe, Probe::Out | Probe::Few(0))).then_some(self.opens_at)
    }

    /// The wave that a request sent now belongs to.
    pub(crate) const fn wave(&self) -> u32 {
        self.wave
    }

    /// Whether it was a refusal that closed it; else the endpoint could not be reached.
    pub(crate) const fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Waves in a row without an answer.
    pub(crate) const fn streak(&self) -> u32 {
        self.streak
    }

    /// Whether a request sent in that wave tells something new: the gate was not closed since.
    pub(crate) const fn is_news(&self, wave: u32) -> bool {
        self.wave == wave
    }

    /// A request of the current wave was refused.
    pub(crate) fn refuse(&mut self, now: Tick, wait: Delay, probe_first: bool) {
        self.close(now, wait, probe_first);
        self.is_refused = true;
    }

    /// A request of the current wave did not reach the endpoint. One request goes first to see whether it is back.
    pub(crate) fn lose(&mut self, now: Tick, wait: Delay) {
        self.close(now, wait, true);
        self.is_refused = false;
    }

    fn close(&mut self, now: Tick, wait: Delay, probe_first: bool) {
        self.wave = self.wave.wrapping_add(1);
        self.streak = self.streak.saturating_add(1);
        self.probe = if probe_first { Probe::Needed } else { Probe::Unneeded };
        self.hold(now + wait);
    }

    /// Nothing passes before this instant; it never makes it earlier.
    pub(crate) fn hold(&mut self, until: Tick) {
        self.opens_at = self.opens_at.max(until);
    }

    /// A request passed.
    pub(crate) fn pass(&mut self) {
        self.probe = match self.probe {
            Probe::Needed => Probe::Out,
            Probe::Few(left) => Probe::Few(left.saturating_sub(1)),
            other => other,
        };
    }

    /// A request sent in that wave was answered: the endpoint admits again.
    pub(crate) fn answered(&mut self, wave: u32) {
        self.streak = 0;
        if self.is_news(wave) {
            self.probe = match self.probe {
                Probe::Needed | Probe::Out => Probe::Few(FEW),
                Probe::Few(_) | Probe::Unneeded => Probe::Unneeded,
            };
        }
    }

    /// A request sent in that wave ended without telling; if it was the probe, another has to go.
    pub(crate) fn missed(&mut self, wave: u32) {
        if self.is_news(wave) && matches!(self.probe, Probe::Out | Probe::Few(0)) {
            self.probe = Probe::Needed;
        }
    }
}

/// One answer may be the one token of a bucket that is refilled slowly. A second step costs one answer's time, and saves
/// refusals where there was only one.
const FEW: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Tick {
        Tick::from_ms(ms)
    }

    #[test]
    fn a_later_refusal_never_opens_it_earlier() {
        let mut gate = Gate::default();
        gate.refuse(at(0), Delay::from_ms(50), false);
        gate.hold(at(20));
        assert_eq!(gate.opens_at(), Some(at(50)));
    }

    #[test]
    fn behind_a_probe_all_wait_for_its_answer() {
        let mut gate = Gate::default();
        gate.refuse(at(0), Delay::from_ms(50), true);
        gate.pass();
        assert_eq!(gate.opens_at(), None);
        gate.answered(0);
        assert_eq!(gate.opens_at(), None, "an answer from before the refusal tells nothing");
        gate.answered(1);
        assert_eq!(gate.opens_at(), Some(at(50)));
    }

    #[test]
    fn a_probe_that_fails_is_followed_by_another() {
        let mut gate = Gate::default();
        gate.refuse(at(0), Delay::from_ms(50), true);
        gate.pass();
        gate.missed(1);
        assert_eq!(gate.opens_at(), Some(at(50)));
        gate.pass();
        assert_eq!(gate.opens_at(), None);
    }
}
