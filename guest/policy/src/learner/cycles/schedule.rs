//! When the next look is worth its refusal, where nobody says how long to wait.

use super::Cycles;
use super::rhythm::scaled;
use super::trying::MANY;
use crate::learner::protocol::Refused;
use crate::time::{Delay, Tick};

impl Cycles {
    /// When the next probe goes where nobody says when: a quick look first; then at growing pauses, or where the next of
    /// the usual windows ends that began with the cycle.
    pub(super) fn schedule(&self, Refused { waiting, known, .. }: Refused, now: Tick) -> Tick {
        let quick = now + if self.rhythm.is_none() { self.silence().max(FIRST_LOOK) } else { self.silence() };
        let consecutive_refusals = self.gate.consecutive_refusals;
        let Some(cycle) = self.log.cycle().filter(|_| consecutive_refusals > 1) else { return quick };
        let elapsed = self.gate.refused_sent_at.since(cycle.began);
        let counted_from = match cycle.admitted {
            0 => cycle.began,
            admitted => self.log.nth_last(admitted).unwrap_or(cycle.began).max(cycle.began),
        };
        let n = (consecutive_refusals - 2).min(20);
        let learnt = self.rhythm.map(|rhythm| (rhythm.amount, rhythm.window));
        let rhythm = learnt.or(known.map(|rate| (rate.amount, rate.window)));
        if let Some((amount, window)) = rhythm {
            let slot = Delay::from_ms(window.as_ms() / amount).max(self.silence());
            let grown = (now + slot.times(3_u64.saturating_pow(n))).min(now + elapsed.max(window));
            let ends = counted_from + window;
            let least =
                now + Delay::from_ms(scaled(self.silence().as_ms(), 16_u64.pow(n.min(12)), 10_u64.pow(n.min(12))));
            // Where even that was refused, and again, refusals count.
            let is_tried = n >= TRIED;
            let next = if now < ends && ends < grown && !is_tried { ends } else { grown };
            return quick.max(least).max(next);
        }
        let usual = if waiting as u64 >= MANY { &FINER[..] } else { &COARSE[..] };
        let longer = elapsed.times(29).divided_by(20);
        let window =
            usual.iter().map(|ms| Delay::from_ms(*ms)).find(|usual| *usual >= longer).unwrap_or(elapsed.times(2));
        let ends = counted_from + window + Delay::from_ms(50) + Delay::from_ms(450).min(window.divided_by(130));
        let factor: u64 = if waiting as u64 >= MANY { 4 } else { 8 };
        let pause = self.silence().max(FIRST_LOOK).times(factor.saturating_pow(n));
        let grown = now + pause;
        quick.max(if pause.times(2) < ends.since(now) { grown } else { ends })
    }
}

const TRIED: u32 = 8;
/// Answers to a look come back within that.
const FIRST_LOOK: Delay = Delay::from_ms(200);
/// Windows that are looked for, in milliseconds: fewer of them for a batch of few documents.
#[rustfmt::skip]
const COARSE: [u64; 15] = [
    250, 1_000, 4_000, 15_000, 60_000, 150_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000,
    43_200_000, 86_400_000, 172_800_000,
];
#[rustfmt::skip]
const FINER: [u64; 21] = [
    250, 500, 1_000, 2_000, 4_000, 7_500, 15_000, 30_000, 60_000, 105_000, 180_000, 300_000, 600_000, 1_200_000,
    2_400_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 86_400_000, 172_800_000,
];
