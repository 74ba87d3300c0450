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
}

#[derive(Debug)]
struct Entry {
    ticket: Ticket,
    at: Tick,
    cost: u64,
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
        self.entries.push_back(Entry { ticket, at, cost, refused_at: None });
        self.used += cost;
    }

    /// Corrects what a request took.
    pub(crate) fn correct(&mut self, ticket: Ticket, cost: u64) {
        self.change(ticket, |entry| entry.cost = cost);
    }

    /// A request was refused; from then on it weighs nothing, unless refusals count.
    pub(crate) fn refuse(&mut self, ticket: Ticket, now: Tick) {
        self.change(ticket, |entry| entry.refused_at = Some(now));
    }

    /// Whether, when this request was sent, an earlier refusal was in the window: if refusals took slots, that explains
    /// why it was refused although the log had cleared it.
    pub(crate) fn followed_a_refusal(&self, ticket: Ticket) -> bool {
        let Some(sent_at) = self.index(ticket).map(|index| self.entries[index].at) else { return false };
        self.entries.iter().any(|entry| entry.refused_at.is_some_and(|refused_at| refused_at <= sent_at))
    }

    /// From now on refused requests take slots, those of the past too.
    pub(crate) fn count_refusals(&mut self) {
        self.refusals_count = true;
        self.used = self.entries.iter().map(|entry| entry.cost).sum();
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

    const fn weight(&self, entry: &Entry) -> u64 {
        if entry.refused_at.is_some() && !self.refusals_count { 0 } else { entry.cost }
    }
}
