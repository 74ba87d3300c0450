//! A refusal: how long nobody goes, and what it says of the rhythm.

use super::Cycles;
use super::rhythm::{Rhythm, scaled};
use super::slowing::Effect;
use crate::learner::protocol::{Refused, Sent};
use crate::learner::rules::Rule;
use crate::time::{Delay, Tick};
use crate::usual::ROUNDING;

impl Cycles {
    /// Nobody goes before the hint; without one, before this refusal's kin have come back.
    pub(super) fn close_for(&mut self, refusal: Refused, now: Tick) {
        let wait = refusal.hint.map_or(self.silence(), |hint| hint + refusal.spread);
        self.gate.pause_until(now + wait);
    }

    /// Another refusal of a episode of which the first was heard.
    pub(super) fn refused_again(&mut self, sent: Sent, refusal: Refused, now: Tick) {
        self.places.fewer(refusal.on_wire, sent.episode);
        if refusal.names_places && refusal.on_wire > 0 {
            self.places.at_most(refusal.on_wire);
        }
        let Some(hint) = refusal.hint else { return };
        self.gate.pause_until(now + hint);
        if sent.episode.wrapping_add(1) == self.gate.episode {
            self.gate.hint_ends = self.gate.hint_ends.max(Some(now + hint));
        }
    }

    /// Whether a refusal teaches nothing: a limit that is known explains it, or it is one in a hundred beside such a limit.
    /// Of a limit to very few, others take now and then all: then the hint is obeyed, and there is no share to be learnt.
    pub(super) fn is_excused(&mut self, refusal: Refused) -> bool {
        let Some(known) = refusal.known.filter(|_| !refusal.is_explained) else { return refusal.is_explained };
        let is_of_few = known.amount <= VERY_FEW && refusal.hint.is_some_and(|hint| hint <= known.window + SECOND);
        let is_rare = self.forgiven_then.is_none_or(|then| self.admitted - then >= RARE);
        if is_rare {
            self.forgiven_then = Some(self.admitted);
        }
        is_rare || is_of_few
    }

    /// A refusal while the gate was open.
    pub(super) fn refused_in_the_open(&mut self, sent: Sent, refusal: Refused, now: Tick) {
        if self.places.known().is_some() {
            if refusal.hint.is_none()
                && self.places.refused(sent.others + refusal.on_wire, self.gate.consecutive_refusals)
            {
                return self.close_for(refusal, now);
            }
            self.places.disprove();
        }
        match refusal.hint {
            None => self.places.suspect(refusal.on_wire, sent.episode),
            Some(_) => self.places.rule_out(),
        }
        let admitted = self.admitted - self.admitted_before;
        if let Some(rhythm) = self.rhythm {
            if self.rules.has(Rule::Futile) && self.is_spared(rhythm, admitted) {
                self.begins = true;
                return self.close_for(refusal, now);
            }
            self.is_confirmed |= admitted >= 2 * rhythm.amount;
            if admitted >= rhythm.amount && self.gate.consecutive_refusals == 1 && self.rules.has(Rule::SlowDown) {
                return self.slow_down(rhythm, admitted, refusal, now);
            }
            self.is_replay = admitted < rhythm.amount && self.gate.consecutive_refusals == 1;
        }
        self.gate.is_closed = true;
        self.gate.probe = None;
        self.gate.refused_sent_at = sent.at;
        self.slow_start = None;
        self.gate.pause_until(self.reopens_at(refusal, refusal.hint, now));
    }

    /// Whether going slower would not help, because others use the key too.
    fn is_spared(&mut self, rhythm: Rhythm, admitted: u64) -> bool {
        match self.slowing.refused(rhythm.slot(), admitted) {
            Effect::Slows => false,
            Effect::None => self.gate.consecutive_refusals <= 2,
            Effect::Back(slot) => {
                let window = slot.times(rhythm.amount).max(Delay::from_ms(1));
                self.rhythm = Some(Rhythm { window, refuted: window, ..rhythm });
                true
            }
        }
    }

    /// The rhythm held for a whole cycle, so it is nearly right.
    fn slow_down(&mut self, rhythm: Rhythm, admitted: u64, refusal: Refused, now: Tick) {
        self.begins = true;
        // Soon after the one before, the pace is not nearly right: then the hint says what is.
        let named = if admitted < 2 * rhythm.amount { self.named(rhythm, refusal, now) } else { Delay::ZERO };
        let window = self.slower(rhythm, admitted, refusal.hint, now).max(named);
        self.rhythm = Some(Rhythm { window, refuted: rhythm.window, ..rhythm });
        self.start_slowly();
        self.close_for(refusal, now);
    }

    /// By the hint, the oldest of an amount leaves the window then. Whole seconds are rounded up, and no hint is trusted
    /// with more than the half of the pace.
    fn named(&self, rhythm: Rhythm, refusal: Refused, now: Tick) -> Delay {
        let Some((hint, oldest)) = refusal.hint.zip(self.log.nth_last(rhythm.amount)) else { return Delay::ZERO };
        let rounding = if hint.as_ms().is_multiple_of(1_000) { ROUNDING } else { Delay::ZERO };
        (now.since(oldest) + hint - rounding).min(rhythm.window.times(2))
    }

    /// A little longer, and no longer than until the room that the hint names.
    fn slower(&mut self, rhythm: Rhythm, admitted: u64, hint: Option<Delay>, now: Tick) -> Delay {
        let more = scaled(rhythm.window.as_ms(), 2 * rhythm.amount, 5 * admitted.max(1));
        let least = scaled(rhythm.window.as_ms(), 3, 100);
        let more = Delay::from_ms(more.max(least).min(rhythm.window.as_ms() / 10));
        let slower = rhythm.window + more.min(hint.unwrap_or(more));
        let before = self.trials.slow_down(rhythm, self.horizon, now);
        slower.max(before.map_or(Delay::ZERO, |before| between(rhythm.window, before)))
    }

    /// A refusal of the one that went first.
    pub(super) fn probe_refused(&mut self, sent: Sent, refusal: Refused, now: Tick) {
        let probe = self.gate.probe.take();
        self.gate.refused_sent_at = sent.at;
        let is_no_place = refusal.hint.is_some() || probe.is_some_and(|probe| probe.by_answer);
        if is_no_place && self.places.take_mark().is_some() {
            self.places.disprove();
        }
        let hint = refusal.hint.map(|hint| {
            let told_the_same = self.gate.last_hint.is_some_and(|last| hint.times(5) > last.times(3));
            if told_the_same && self.rules.has(Rule::DoubledHint) {
                self.gate.doublings += 1;
            }
            hint.times(1 << self.gate.doublings.min(20)).min(hint.max(LONGEST_DOUBLED))
        });
        self.gate.pause_until(self.reopens_at(refusal, hint, now));
    }

    fn reopens_at(&self, refusal: Refused, hint: Option<Delay>, now: Tick) -> Tick {
        match hint {
            Some(hint) => now + hint + refusal.spread,
            None => self.schedule(refusal, now),
        }
    }
}

/// The geometric mean.
fn between(one: Delay, other: Delay) -> Delay {
    Delay::from_ms((u128::from(one.as_ms()) * u128::from(other.as_ms())).isqrt() as u64)
}

/// Admissions for one refusal that is forgiven.
const RARE: u64 = 100;
/// Windows that are longer come with hints of their own.
const LONGEST_DOUBLED: Delay = Delay::from_secs(3_660);
/// Of so few requests per window a share cannot be told from chance.
const VERY_FEW: u64 = 3;
/// Whole seconds are rounded up.
const SECOND: Delay = Delay::from_secs(1);
