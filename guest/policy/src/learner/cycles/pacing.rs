//! When the next may go: by the rhythm, earlier for a trial, or because an answer came back.

use super::Cycles;
use crate::learner::protocol::Ticket;
use crate::settings::Rate;
use crate::time::{Delay, Tick};

impl Cycles {
    /// When the rhythm lets the next go; earlier where that is to be tried.
    pub(super) fn rhythm_at(&mut self, now: Tick, waiting: usize) -> Option<(Tick, Rate)> {
        let rhythm = self.rhythm?;
        let oldest = self.log.nth_last(rhythm.amount)?;
        let at = oldest + rhythm.window;
        if at <= now {
            return None;
        }
        // One that would go hardly earlier shows nothing.
        let trial = self
            .trial_at(rhythm, oldest, waiting)
            .filter(|trial| *trial + at.since(*trial).divided_by(4) >= self.heard_at);
        let trial = trial.unwrap_or(at).min(at);
        let settled = self.trials.settles_at(self.silence()).unwrap_or(at).max(now + Delay::from_ms(1));
        (trial > now).then(|| (trial.min(settled), rhythm.rate()))
    }

    /// While a pace holds, one cycle follows the other.
    pub(super) fn follow_on(&mut self, ticket: Ticket, now: Tick) {
        let Some(rhythm) = self.rhythm.filter(|_| !self.gate.is_closed) else { return };
        let whole = self.horizon.times(2).max(LEAST_CYCLE);
        if self.log.cycle().is_some_and(|cycle| now.since(cycle.began) >= whole) {
            self.log.begin(ticket);
            self.agreed.cycle(rhythm.rate());
        }
    }

    /// Whether the probe may go although its time has not come: an answer came back, so there may be a place.
    pub(super) fn goes_by_answer(&self, now: Tick, on_wire: usize) -> bool {
        self.gate.is_closed
            && self.gate.probe.is_none()
            && self.places.mark().is_some_and(|mark| on_wire < mark)
            && now > self.gate.refused_at
            && now >= self.gate.floor
    }
}

/// Cycles that are shorter say little.
const LEAST_CYCLE: Delay = Delay::from_ms(500);
