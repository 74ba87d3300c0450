//! Trials: one request at a time goes earlier than the rhythm says. Here is how they stand; when one goes and what follows
//! from it is in `trying`.

use super::rhythm::Rhythm;
use crate::learner::protocol::Ticket;
use crate::time::{Delay, Tick};

#[derive(Debug)]
pub(super) struct Trials {
    pub(super) on: Option<Trial>,
    pub(super) refused: u64,
    /// Those that looked for growth, in a row.
    pub(super) fruitless: u32,
    /// When the latest went, or was no longer of use.
    pub(super) latest_at: Tick,
    pub(super) has_passed: bool,
    /// How many in a row passed.
    pub(super) passed: u32,
    pub(super) is_growing: bool,
    /// How much shorter the next may be, in thousandths of the window.
    pub(super) step: u64,
    /// The rhythm before it grew, and when it grew last.
    pub(super) grown: Option<(Rhythm, Tick)>,
    /// What the latest refusal of one cost, and when.
    pub(super) price: Delay,
    pub(super) refused_at: Tick,
    /// Hints name the end of the window: there is nothing to find before it.
    pub(super) trusts_hints: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) ticket: Ticket,
    pub(super) at: Tick,
    /// How old the one was whose slot it took.
    pub(super) gap: Delay,
    /// It takes the slot of one that was refused.
    pub(super) is_of_refused: bool,
}

impl Default for Trials {
    fn default() -> Self {
        Self {
            on: None,
            refused: 0,
            fruitless: 0,
            latest_at: Tick::default(),
            has_passed: false,
            passed: 0,
            is_growing: false,
            step: FIRST_STEP,
            grown: None,
            price: Delay::ZERO,
            refused_at: Tick::default(),
            trusts_hints: false,
        }
    }
}

impl Trials {
    pub(super) fn sent(&mut self, ticket: Ticket, at: Tick, gap: Delay, is_of_refused: bool) {
        self.on = Some(Trial { ticket, at, gap, is_of_refused });
        self.latest_at = at;
        self.has_passed = false;
    }

    pub(super) fn is_on(&self, ticket: Ticket) -> bool {
        self.on.is_some_and(|trial| trial.ticket == ticket)
    }

    pub(super) const fn cancel(&mut self) {
        self.on = None;
    }

    /// When the one that is on is known to be admitted.
    pub(super) fn settles_at(&self, silence: Delay) -> Option<Tick> {
        self.on.map(|trial| trial.at + silence)
    }

    /// A refusal showed that the pace was too fast. Returns the window from before growth, if it grew lately.
    pub(super) fn slow_down(&mut self, rhythm: Rhythm, horizon: Delay, now: Tick) -> Option<Delay> {
        let lately = self.grown.take().filter(|(_, then)| now.since(*then) <= horizon.times(LATELY));
        self.fruitless = (self.fruitless + u32::from(lately.is_some())).saturating_sub(1);
        self.stop_growing();
        self.latest_at = now;
        self.has_passed = false;
        lately.map(|(before, _)| before.with_amount(rhythm.amount).window)
    }

    /// A new rhythm: what was tried before says nothing of it.
    pub(super) const fn begin(&mut self, now: Tick) {
        self.grown = None;
        (self.has_passed, self.passed) = (true, 0);
        self.latest_at = now;
    }

    /// Where a refused trial costs a long wait, the next is put off in proportion.
    pub(super) fn pays_at(&self) -> Tick {
        if self.price.is_zero() { Tick::default() } else { self.refused_at + self.price.times(8) }
    }

    pub(super) const fn trusts_hints(&self) -> bool {
        self.trusts_hints
    }

    pub(super) const fn stop_growing(&mut self) {
        (self.is_growing, self.step, self.passed) = (false, FIRST_STEP, 0);
    }
}

/// A tenth of the window.
const FIRST_STEP: u64 = 100;
/// So many times the time of a whole cycle.
pub(super) const LATELY: u64 = 3;
