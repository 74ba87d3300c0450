//! When a trial goes, and what follows from it. Between the window that was refuted and the one that was admitted the truth
//! is looked for by halves; where they are near to each other, a limit that rose is looked for.

use super::Cycles;
use super::rhythm::Rhythm;
use super::trials::LATELY;
use crate::learner::protocol::Refused;
use crate::learner::rules::Rule;
use crate::time::{Delay, Tick};

impl Cycles {
    /// When a trial may go, if there is something to find, and enough documents wait that it can pay.
    pub(super) fn trial_at(&mut self, rhythm: Rhythm, oldest: Tick, waiting: usize) -> Option<Tick> {
        if !self.may_try(rhythm, waiting) || oldest + rhythm.window < self.trials.pays_at() {
            return None;
        }
        if self.is_counting_open(rhythm) {
            let pays = waiting as u64 >= rhythm.amount.saturating_mul(4).clamp(FEW, MANY);
            return self.log.nth_last_admitted(rhythm.amount).map(|admitted| admitted + rhythm.window).filter(|_| pays);
        }
        let rhythm = self.look_for_growth(rhythm);
        let Rhythm { window, refuted, .. } = rhythm;
        let pause = match (self.trials.is_growing, self.trials.has_passed) {
            (true, _) => self.horizon.divided_by(2),
            (false, true) => Delay::ZERO,
            (false, false) => self.horizon.max(window),
        };
        let is_due = self.heard_at.since(self.trials.latest_at) >= pause;
        (is_due && !rhythm.is_found()).then(|| oldest + (refuted + window).divided_by(2))
    }

    /// Where the window is found, it may become shorter from time to time: then what was refuted is forgotten.
    fn look_for_growth(&mut self, rhythm: Rhythm) -> Rhythm {
        let now = self.heard_at;
        let trials = &mut self.trials;
        if !rhythm.is_found() || !self.rules.has(Rule::Growth) {
            return rhythm;
        }
        if trials.grown.is_some_and(|(_, then)| now.since(then) > self.horizon.times(LATELY)) {
            (trials.fruitless, trials.grown) = (0, None);
        }
        let rarely = self.horizon.times(GROWTH_PAUSE).max(LEAST_PAUSE).times(1 << trials.fruitless.min(MOST_RARER));
        let is_due = now.since(trials.latest_at) >= rarely
            || trials.has_passed && (trials.is_growing || trials.passed >= STREAK);
        if !is_due {
            return rhythm;
        }
        trials.is_growing = true;
        let refuted = rhythm.window - rhythm.window.times(2 * trials.step).divided_by(1_000);
        *self.rhythm.insert(Rhythm { refuted, ..rhythm })
    }

    /// Whether refused requests would hold back the next, and it is not known that they do at the endpoint.
    pub(super) fn is_counting_open(&self, rhythm: Rhythm) -> bool {
        self.refused_count && !self.is_counting_proven && self.log.has_refused(rhythm.amount)
    }

    fn may_try(&self, Rhythm { amount, is_sure, .. }: Rhythm, waiting: usize) -> bool {
        let trials = &self.trials;
        let needs_many = amount <= 3 || is_sure && !trials.is_growing;
        let enough = if needs_many { 8_u64.saturating_mul(amount).min(MANY - 1) } else { 0 };
        self.rules.has(Rule::Trials)
            && trials.on.is_none()
            && waiting as u64 > enough
            && !(self.is_counting_proven && self.log.has_refused(amount))
            && trials.refused <= 1 + self.admitted / ADMITTED_PER_REFUSED
    }

    pub(super) fn trial_admitted(&mut self) {
        let (Some(trial), Some(rhythm)) = (self.trials.on.take(), self.rhythm.as_mut()) else { return };
        if trial.is_of_refused {
            self.refused_count = false;
            return self.log.forget_refused();
        }
        let trials = &mut self.trials;
        if trials.is_growing {
            let before = trials.grown.map_or(*rhythm, |(before, _)| before);
            trials.grown = Some((before, trial.at));
        }
        rhythm.window = rhythm.window.min(trial.gap + rhythm.window.divided_by(32).min(Delay::from_ms(2)));
        trials.has_passed = true;
        trials.passed += 1;
        if trials.is_growing {
            trials.step = (2 * trials.step).min(LARGEST_STEP);
            rhythm.refuted = rhythm.window - rhythm.window.times(2 * trials.step).divided_by(1_000);
        }
    }

    pub(super) fn trial_refused(&mut self, refusal: Refused, now: Tick) {
        let Some(trial) = self.trials.on else { return };
        if trial.is_of_refused {
            self.is_counting_proven = true;
            self.trials.refused += 1;
            return self.close_for(refusal, now);
        }
        let slot = self.rhythm.and_then(|rhythm| Some(self.log.nth_last(rhythm.amount)? + rhythm.window));
        let trials = &mut self.trials;
        trials.refused += 1;
        trials.fruitless += u32::from(trials.is_growing);
        trials.has_passed = false;
        trials.refused_at = now;
        if let Some(rhythm) = &mut self.rhythm {
            let refuted = if trials.is_growing { rhythm.window } else { trial.gap.min(rhythm.window) };
            rhythm.refuted = rhythm.refuted.max(refuted);
            if let (Some(hint), Some(slot)) = (refusal.hint, slot) {
                trials.price = (now + hint).since(slot);
                // By the hint, the slot that it took is free then.
                let named = trial.gap + now.since(trial.at) + hint;
                let apart = Delay::from_ms((now + hint).as_ms().abs_diff(slot.as_ms()));
                if named < rhythm.window && named > rhythm.refuted {
                    trials.grown = Some((*rhythm, now));
                    rhythm.window = named;
                }
                if apart < Delay::from_ms(1_500).max(rhythm.window.divided_by(10)) {
                    trials.trusts_hints = true;
                    rhythm.refuted = rhythm.window;
                }
            }
        }
        trials.stop_growing();
        self.close_for(refusal, now);
    }
}

const LARGEST_STEP: u64 = 500;
const GROWTH_PAUSE: u64 = 2;
/// In short windows too, limits rise seldom.
const LEAST_PAUSE: Delay = Delay::from_secs(20);
/// Where so many trials pass in a row, what was refuted was no matter of the pace.
const STREAK: u32 = 3;
const MOST_RARER: u32 = 1;
/// A trial is one refusal in so many admissions at most.
const ADMITTED_PER_REFUSED: u64 = 40;
/// Whether refused requests count is worth a refusal where a good deal is still to come.
const FEW: u64 = 20;
/// With so many documents waiting there are many, as far as can be known: callers feed as there is room.
pub(super) const MANY: u64 = 64;
