//! The gate opens: its probe was admitted, so a cycle is known.

use super::Cycles;
use super::gate::Probe;
use super::rhythm::{Rhythm, is_faster, scaled};
use crate::learner::rules::Rule;
use crate::time::{Delay, Tick};
use crate::usual::{ROUNDING, USUAL_WINDOWS};

impl Cycles {
    /// The probe was answered, or not refused for so long that it was admitted.
    pub(super) fn probe_admitted(&mut self, probe: Probe, now: Tick) {
        self.gate.is_closed = false;
        self.gate.consecutive_refusals = 0;
        self.gate.probe = None;
        self.gate.doublings = 0;
        if let Some(mark) = self.places.take_mark() {
            if probe.by_answer {
                return self.places.found(mark);
            }
            if self.last_admitted_at < self.gate.refused_at {
                self.places.disprove();
            }
        }
        self.compare_counting(probe);
        if let Some(rhythm) = self.best_cycle(probe) {
            self.rhythm = Some(rhythm);
            self.agreed.cycle(rhythm.rate());
            self.is_confirmed = false;
            self.trials.begin(now);
        }
        self.log.begin(probe.ticket);
        self.admitted_before = self.admitted;
        self.is_replay = false;
        self.start_slowly();
    }

    /// If refused requests took slots, this one would have been refused; if they do not, not.
    fn compare_counting(&mut self, probe: Probe) {
        let Some(Rhythm { amount, window, .. }) = self.rhythm.filter(|_| self.refused_count) else { return };
        let tolerance = Delay::from_ms(500).max(window.divided_by(10));
        let is_full = |at: Option<Tick>| at.map(|at| at + window > probe.at + tolerance);
        if is_full(self.log.nth_before(probe.ticket, amount)) == Some(true)
            && is_full(self.log.nth_admitted_before(probe.ticket, amount)) == Some(false)
        {
            self.refused_count = false;
            self.log.forget_refused();
        }
    }

    /// Of the last cycles, each up to this probe, the one with the best rate.
    fn best_cycle(&mut self, probe: Probe) -> Option<Rhythm> {
        // What went later than it was told to could have gone then.
        let opened = self.gate.hint_ends.map_or(probe.at, |ends| ends.min(probe.at));
        let mut best: Option<(u64, Delay, Delay)> = None;
        let mut cycles = self.log.cycles().rev();
        let latest = self.log.cycle().map_or(0, |cycle| cycle.admitted.saturating_sub(1));
        // Where hardly any of a burst passed again, it was one that comes once.
        let came_once = self.is_replay
            && latest > 0
            && self.gate.last_hint >= Some(COARSE)
            && self.rhythm.is_some_and(|rhythm| 4 * latest <= rhythm.amount && self.admitted < 2 * rhythm.amount);
        let compared = if self.rules.has(Rule::BestOfThree) && !came_once { 3 } else { 1 };
        for cycle in cycles.by_ref().take(compared) {
            let amount = cycle.admitted.saturating_sub(1);
            let window = opened.since(cycle.began);
            if amount == 0 || window.is_zero() {
                continue;
            }
            let refuted = self.gate.refused_sent_at.since(cycle.began);
            // The latest alone, unless it is clearly worse: a longer one may be two windows.
            let is_better = best.is_none_or(|(most, span, _)| is_faster((20 * amount, window), (21 * most, span)));
            if is_better {
                best = Some((amount, window, refuted));
            }
        }
        let (admitted, mut window, mut refuted) = best?;
        let mut amount = admitted.min(super::log::MOST_ENTRIES as u64 / 2);
        if self.rules.has(Rule::SmallerBurst) {
            if let Some(rhythm) = self.rhythm.filter(|_| self.is_confirmed) {
                amount = amount.min(rhythm.amount);
            }
            if self.is_replay {
                let latest = self.log.cycle().map_or(1, |cycle| cycle.admitted.saturating_sub(1));
                amount = amount.min(latest).max(1);
            }
        }
        self.horizon = self.horizon_of(admitted, window);
        if window <= SHORT && self.gate.last_hint.is_none() && self.rules.has(Rule::Spread) {
            // It costs hardly a second, and a bucket does not admit its burst again.
            amount = amount.min(admitted.div_ceil(4));
        }
        // The same rate in a window that is shorter.
        window = Delay::from_ms(scaled(window.as_ms(), amount, admitted).max(1));
        refuted = Delay::from_ms(scaled(refuted.as_ms(), amount, admitted));
        let usual = self.usual(refuted, window);
        let is_sure = self.gate.last_hint.is_some() || usual >= Some(SURE);
        if let Some(usual) = usual {
            window = usual + Delay::from_ms(350).min(usual.divided_by(170));
        }
        refuted = if self.trials.trusts_hints() { window } else { refuted.min(window) };
        Some(Rhythm { amount, window, refuted, is_sure })
    }

    /// How long a whole cycle takes: as long as this one, unless the rhythm was kept to in it for long.
    fn horizon_of(&self, admitted: u64, window: Delay) -> Delay {
        let was_kept = self.rhythm.is_some_and(|rhythm| {
            !is_faster((rhythm.amount, rhythm.window), (2 * admitted, window)) && window > self.horizon.times(2)
        });
        if was_kept { self.horizon } else { window.max(self.horizon - self.horizon.divided_by(8)) }
    }

    /// A window that providers use, if it fits what was seen.
    fn usual(&self, refuted: Delay, window: Delay) -> Option<Delay> {
        let rounding = self.gate.last_hint.map_or(Delay::ZERO, |_| Delay::from_secs(1));
        let below = window.divided_by(100);
        let is_near = |usual: &Delay| {
            let above = usual.divided_by(10).min(rounding).max(window.divided_by(20)).min(ROUNDING);
            window <= *usual + above && *usual <= window + below
        };
        let between = |usual: &Delay| {
            refuted < *usual && *usual <= window + window.divided_by(1_000) && *usual >= Delay::from_secs(10)
        };
        let near = USUAL_WINDOWS.iter().copied().find(is_near);
        let inside = USUAL_WINDOWS.iter().rev().copied().find(between).filter(|_| self.gate.last_hint.is_none());
        inside.or(near).filter(|usual| self.rules.has(Rule::UsualWindow) && *usual >= refuted)
    }
}

const SHORT: Delay = Delay::from_ms(1_500);
/// Shorter hints are mostly rounding.
const COARSE: Delay = Delay::from_secs(3);
/// From this on, a usual window is taken for granted by a batch of few documents.
const SURE: Delay = Delay::from_secs(30);
