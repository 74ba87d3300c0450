//! An exact rolling window, to the millisecond.

use std::collections::VecDeque;

/// So much within any window of that length.
#[derive(Debug)]
pub(super) struct Window {
    amount: u64,
    length_ms: u64,
    /// When something was taken, and how much.
    taken: VecDeque<(u64, u64)>,
    used: u64,
}

impl Window {
    pub(super) fn new(amount: u64, length_ms: u64) -> Self {
        Self { amount, length_ms, taken: VecDeque::new(), used: 0 }
    }

    /// What was taken a window ago or earlier is free again.
    pub(super) fn advance(&mut self, now_ms: u64) {
        while let Some((_, cost)) = self.taken.pop_front_if(|(at, _)| *at + self.length_ms <= now_ms) {
            self.used -= cost;
        }
    }

    pub(super) fn take(&mut self, now_ms: u64, cost: u64) {
        self.taken.push_back((now_ms, cost));
        self.used += cost;
    }

    /// What was taken at that time turns out to be less.
    pub(super) fn settle(&mut self, at_ms: u64, reserved: u64, taken: u64) {
        let entry = self.taken.iter_mut().find(|entry| **entry == (at_ms, reserved));
        if let Some((_, cost)) = entry {
            *cost = taken.min(reserved);
            self.used -= reserved - *cost;
        }
    }

    /// How long until so much fits; nothing if it fits now.
    pub(super) fn wait(&self, now_ms: u64, cost: u64) -> Option<u64> {
        let mut excess = (self.used + cost).checked_sub(self.amount).filter(|excess| *excess > 0)?;
        for (at, taken) in &self.taken {
            excess = excess.saturating_sub(*taken);
            if excess == 0 {
                return Some(at + self.length_ms - now_ms);
            }
        }
        // It is larger than the window itself.
        Some(u64::MAX)
    }

    pub(super) const fn amount(&self) -> u64 {
        self.amount
    }

    pub(super) const fn remaining(&self) -> u64 {
        self.amount.saturating_sub(self.used)
    }

    /// How long until there is more than now; no time if all is there.
    pub(super) fn reset(&self, now_ms: u64) -> u64 {
        let full = self.wait(now_ms, 1);
        full.unwrap_or_else(|| self.taken.front().map_or(0, |(at, _)| at + self.length_ms - now_ms))
    }
}
