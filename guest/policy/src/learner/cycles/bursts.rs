//! How much of a rate goes at once. Bursts bring a short batch home sooner at a rolling or a fixed window; a bucket admits its
//! burst once.

use super::Cycles;
use super::rhythm::Rhythm;
use crate::learner::protocol::Refused;
use crate::learner::rules::Rule;
use crate::settings::Rate;
use crate::time::{Delay, Tick};

impl Cycles {
    /// A request was refused beside a limit that is known. That limit holds; where its requests are close together, its
    /// rate is kept to in smaller bursts.
    pub(super) fn keep_to_known(&mut self, refusal: Refused, now: Tick) {
        let Some(known) = refusal.known.filter(|_| !refusal.is_explained && self.rhythm.is_none()) else { return };
        self.begins = true;
        // Where little was asked for yet, and nobody says how long to wait, it may be no matter of a rate.
        let is_half_used = self.log.cycle().is_some_and(|cycle| cycle.admitted.saturating_mul(2) >= known.amount);
        if (refusal.hint.is_some() || is_half_used) && known.window <= SHORT_SLOT.times(known.amount) {
            self.spread_known(known, now);
        }
    }

    /// A request was refused that a known limit would have let go: its rate may hold in smaller bursts only.
    fn spread_known(&mut self, known: Rate, now: Tick) {
        let Some(burst) = self.log.cycle().map(|cycle| cycle.admitted.clamp(1, known.amount)) else { return };
        let window = known.window + known.window.divided_by(50);
        let whole = Rhythm { amount: known.amount, window, refuted: window, is_sure: false };
        self.rhythm = Some(whole.with_amount(burst));
        self.horizon = window;
        self.trials.begin(now);
        self.start_slowly();
    }

    /// The same rate in smaller bursts, once the window is short beside all that went before: that costs half a window
    /// once, and buckets do not admit bursts again and again.
    pub(super) fn spread_out(&mut self, now: Tick) {
        let Some(rhythm) = self.rhythm.filter(|rhythm| rhythm.amount > 1 && rhythm.window >= SHORTEST_SPREAD) else {
            return;
        };
        let age = self.first_sent_at.map_or(Delay::ZERO, |first| now.since(first));
        let since = self.admitted - self.smaller_then.max(self.admitted_before);
        if since >= 2 * rhythm.amount && rhythm.window.times(SPREAD_AFTER) <= age && self.rules.has(Rule::Spread) {
            self.smaller_then = self.admitted;
            self.rhythm = Some(rhythm.with_amount(rhythm.amount.div_ceil(2)));
        }
    }
}

/// Where requests are further apart, a batch may well be over before bursts are.
const SHORT_SLOT: Delay = Delay::from_secs(2);
/// Below, milliseconds are too coarse.
const SHORTEST_SPREAD: Delay = Delay::from_ms(40);
/// Windows of all that went before.
const SPREAD_AFTER: u64 = 50;
