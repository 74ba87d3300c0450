//! An exact log of what was sent within one rolling window.

use alloc::collections::VecDeque;

use crate::time::{Delay, Tick};

/// Names a request that was sent; later requests have larger ones.
pub(crate) type Ticket = u64;

/// What was sent, oldest first, and how much of a limit it takes.
#[derive(Debug, Default)]
pub(crate) struct RollingLog {
    entries: VecDeque<Entry>,
    used: u64,
    /// Whether the server counts requests that it refuses.
    refusals_count: bool,
    /// Whether the server gives back what a request did not take.
    gives_back: bool,
}

#[derive(Debug)]
struct Entry {
    ticket: Ticket,
    at: Tick,
    cost: u64,
    /// What it really took, once that is known.
    taken: Option<u64>,
    refused_at: Option<Tick>,
}

impl RollingLog {
    /// What is in the window now.
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    /// Drops what left the window.
    pub(crate) fn forget(&mut self, now: Tick, window: Delay) {
        while let Some(entry) = self.entries.front().filter(|entry| entry.at + window <= now) {
            self.used -= self.weight(entry);
            self.entries.pop_front();
        }
    }

    /// When so much will have left the window, at the earliest; at once if it need not.
    pub(crate) fn frees(&self, mut excess: u64, window: Delay) -> Tick {
        let mut at = Tick::default();
        for entry in &self.entries {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(self.weight(entry));
            at = entry.at + window;
        }
        at
    }

    /// Adds a request.
    pub(crate) fn enter(&mut self, ticket: Ticket, at: Tick, cost: u64) {
        self.entries.push_back(Entry { ticket, at, cost, taken: None, refused_at: None });
        self.used += cost;
    }

    /// A request took so much. Where that is less than was reserved for it, it counts only if the server gives back.
    pub(crate) fn settle(&mut self, ticket: Ticket, taken: u64) {
        self.change(ticket, |entry| entry.taken = Some(taken));
    }

    /// Whether the server gives back what was reserved and not taken.
    pub(crate) fn give_back(&mut self, gives_back: bool) {
        self.gives_back = gives_back;
        self.used = self.entries.iter().map(|entry| self.weight(entry)).sum();
    }

    /// A request was refused; from then on it weighs nothing, unless refusals count.
    pub(crate) fn refuse(&mut self, ticket: Ticket, now: Tick) {
        self.change(ticket, |entry| entry.refused_at = Some(now));
    }

    /// Whether it would explain why this request was refused although the log had cleared it, if refused requests took
    /// slots: with them the window was full.
    pub(crate) fn is_full_with_refusals(&self, ticket: Ticket, amount: u64, window: Delay) -> bool {
        let Some(index) = self.index(ticket).filter(|_| !self.refusals_count) else { return false };
        let sent = &self.entries[index];
        let before = self.entries.iter().take(index).filter(|entry| entry.at + window > sent.at);
        before.map(|entry| entry.cost).sum::<u64>() + sent.cost > amount
    }

    /// From now on refused requests take slots, those of the past too.
    pub(crate) fn count_refusals(&mut self) {
        self.refusals_count = true;
        self.used = self.entries.iter().map(|entry| self.weight(entry)).sum();
    }

    fn change(&mut self, ticket: Ticket, change: impl FnOnce(&mut Entry)) {
        let Some(index) = self.index(ticket) else { return };
        self.used -= self.weight(&self.entries[index]);
        change(&mut self.entries[index]);
        self.used += self.weight(&self.entries[index]);
    }

    fn index(&self, ticket: Ticket) -> Option<usize> {
        self.entries.binary_search_by_key(&ticket, |entry| entry.ticket).ok()
    }

    fn weight(&self, entry: &Entry) -> u64 {
        match entry.taken {
            _ if entry.refused_at.is_some() && !self.refusals_count => 0,
            Some(taken) if self.gives_back => taken,
            taken => taken.map_or(entry.cost, |taken| taken.max(entry.cost)),
        }
    }
}
