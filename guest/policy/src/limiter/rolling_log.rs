//! An exact log of what was sent within one rolling window, and of a little more than that.

use alloc::collections::VecDeque;

use crate::learner::Ticket;
use crate::time::{Delay, Tick};

/// What was sent, oldest first, and how much of a limit it takes.
#[derive(Debug, Default)]
pub(super) struct RollingLog {
    entries: VecDeque<Entry>,
    /// So many of the oldest have left the window; they are kept to explain a refusal.
    gone: usize,
    /// What the others weigh.
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
    is_refused: bool,
}

impl RollingLog {
    /// What is in the window now.
    pub(super) const fn used(&self) -> u64 {
        self.used
    }

    /// Whether refused requests are counted.
    pub(super) const fn counts_refusals(&self) -> bool {
        self.refusals_count
    }

    /// Lets what left the window go, and drops what left the longest window that is asked about.
    pub(super) fn advance(&mut self, now: Tick, window: Delay, longest: Delay) {
        while let Some(entry) = self.entries.get(self.gone).filter(|entry| entry.at + window <= now) {
            self.used -= self.weight(entry);
            self.gone += 1;
        }
        while self.gone > 0 && self.entries.front().is_some_and(|entry| entry.at + longest <= now) {
            self.entries.pop_front();
            self.gone -= 1;
        }
    }

    /// When so much will have left the window, at the earliest; at once if it need not.
    pub(super) fn frees(&self, mut excess: u64, window: Delay) -> Tick {
        let mut at = Tick::default();
        for entry in self.entries.range(self.gone..) {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(self.weight(entry));
            at = entry.at + window;
        }
        at
    }

    /// Adds a request.
    pub(super) fn enter(&mut self, ticket: Ticket, at: Tick, cost: u64) {
        self.entries.push_back(Entry { ticket, at, cost, taken: None, is_refused: false });
        self.used = self.used.saturating_add(cost);
    }

    /// A request took so much. Where that is less than was reserved for it, it counts only if the server gives back.
    pub(super) fn settle(&mut self, ticket: Ticket, taken: u64) {
        self.change(ticket, |entry| entry.taken = Some(taken));
    }

    /// Whether the server gives back what was reserved and not taken.
    pub(super) fn give_back(&mut self, gives_back: bool) {
        self.gives_back = gives_back;
        self.recount();
    }

    /// A request was refused; from then on it weighs nothing, unless refusals count.
    pub(super) fn refuse(&mut self, ticket: Ticket) {
        self.change(ticket, |entry| entry.is_refused = true);
    }

    /// Whether refused requests take slots, those of the past too.
    pub(super) fn count_refusals(&mut self, they_count: bool) {
        self.refusals_count = they_count;
        self.recount();
    }

    /// The window became longer: what had left it may be in it again.
    pub(super) fn lengthen(&mut self) {
        self.gone = 0;
        self.recount();
    }

    /// What was in a window of that length when this request went, itself not included.
    pub(super) fn used_before(&self, ticket: Ticket, window: Delay, with_refused: bool) -> u64 {
        let position = self.entries.partition_point(|entry| entry.ticket < ticket);
        let Some(sent) = self.entries.get(position).filter(|entry| entry.ticket == ticket) else { return 0 };
        let before = self.entries.range(..position).rev().take_while(|entry| entry.at + window > sent.at);
        let counted = before.filter(|entry| with_refused || !entry.is_refused);
        counted.fold(0, |sum: u64, entry| sum.saturating_add(entry.cost))
    }

    fn recount(&mut self) {
        let weights = self.entries.range(self.gone..).map(|entry| self.weight(entry));
        self.used = weights.fold(0, u64::saturating_add);
    }

    fn change(&mut self, ticket: Ticket, change: impl FnOnce(&mut Entry)) {
        let Ok(index) = self.entries.binary_search_by_key(&ticket, |entry| entry.ticket) else { return };
        let before = self.weight(&self.entries[index]);
        change(&mut self.entries[index]);
        if index >= self.gone {
            self.used = self.used.saturating_sub(before).saturating_add(self.weight(&self.entries[index]));
        }
    }

    fn weight(&self, entry: &Entry) -> u64 {
        match entry.taken {
            _ if entry.is_refused && !self.refusals_count => 0,
            Some(taken) if self.gives_back => taken,
            taken => taken.map_or(entry.cost, |taken| taken.max(entry.cost)),
        }
    }
}
