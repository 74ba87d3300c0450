//! What was sent lately, oldest first, and where the last cycles began in it.

use alloc::collections::VecDeque;

use crate::learner::protocol::Ticket;
use crate::time::Tick;

/// Requests that were admitted or may still be, and those refused ones that may take slots.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: VecDeque<Entry>,
    /// Those of them that were refused lately.
    refused: VecDeque<Ticket>,
    /// Where cycles began, the latest last.
    starts: VecDeque<Start>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    ticket: Ticket,
    at: Tick,
    is_refused: bool,
}

/// Where a cycle began.
#[derive(Clone, Copy, Debug)]
struct Start {
    ticket: Ticket,
    at: Tick,
    /// Requests since then, itself included, that were not refused.
    admitted: u64,
}

/// A cycle up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    /// When its first request went.
    pub(super) began: Tick,
    /// How many were admitted in it.
    pub(super) admitted: u64,
}

impl Log {
    pub(super) fn sent(&mut self, ticket: Ticket, at: Tick) {
        if self.entries.len() == MOST_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { ticket, at, is_refused: false });
        for start in &mut self.starts {
            start.admitted += 1;
        }
        if self.starts.is_empty() {
            self.starts.push_back(Start { ticket, at, admitted: 1 });
        }
    }

    /// A request did not take a slot, or took one without being admitted.
    pub(super) fn refused(&mut self, ticket: Ticket, takes_slot: bool) {
        let Some(index) = self.index(ticket) else { return };
        if self.entries[index].is_refused {
            return;
        }
        for start in self.starts.iter_mut().filter(|start| start.ticket <= ticket) {
            start.admitted = start.admitted.saturating_sub(1);
        }
        if takes_slot {
            self.entries[index].is_refused = true;
            if self.refused.len() == MOST_REFUSED {
                self.refused.pop_front();
            }
            self.refused.push_back(ticket);
        } else {
            self.entries.remove(index);
        }
    }

    /// Refused requests take no slots after all.
    pub(super) fn forget_refused(&mut self) {
        self.entries.retain(|entry| !entry.is_refused);
        self.refused.clear();
    }

    /// When the n-th last went.
    pub(super) fn nth_last(&self, n: u64) -> Option<Tick> {
        let n = usize::try_from(n).ok()?;
        Some(self.entries[self.entries.len().checked_sub(n.max(1))?].at)
    }

    /// When the n-th before this one went.
    pub(super) fn nth_before(&self, ticket: Ticket, n: u64) -> Option<Tick> {
        let index = self.position(ticket).checked_sub(usize::try_from(n).ok()?)?;
        Some(self.entries.get(index)?.at)
    }

    /// The same, of those that were not refused.
    pub(super) fn nth_admitted_before(&self, ticket: Ticket, n: u64) -> Option<Tick> {
        let before = self.entries.range(..self.position(ticket)).rev().filter(|entry| !entry.is_refused);
        before
            .take(usize::try_from(n).ok()?)
            .enumerate()
            .find(|(index, _)| *index as u64 + 1 == n)
            .map(|(_, entry)| entry.at)
    }

    /// How many of the last n were refused.
    fn refused_of_last(&self, n: u64) -> u64 {
        let since = (self.entries.len() as u64).saturating_sub(n);
        self.refused.iter().rev().take_while(|ticket| self.position(**ticket) as u64 >= since).count() as u64
    }

    /// Whether one of the last n was refused.
    pub(super) fn has_refused(&self, n: u64) -> bool {
        self.refused_of_last(n) > 0
    }

    /// When the n-th last of those went that were not refused.
    pub(super) fn nth_last_admitted(&self, n: u64) -> Option<Tick> {
        let mut refused = 0;
        loop {
            let more = self.refused_of_last(n + refused);
            if more == refused {
                return self.nth_last(n + refused);
            }
            refused = more;
        }
    }

    /// A cycle begins with this request, which was sent.
    pub(super) fn begin(&mut self, ticket: Ticket) {
        let position = self.position(ticket);
        let admitted = self.entries.range(position..).filter(|entry| !entry.is_refused).count() as u64;
        let at = self.entries.get(position).or(self.entries.back()).map(|entry| entry.at);
        if self.starts.len() == CYCLES {
            self.starts.pop_front();
        }
        self.starts.push_back(Start { ticket, at: at.unwrap_or_default(), admitted });
    }

    /// No cycle is on, and none was.
    pub(super) fn forget_cycles(&mut self) {
        self.starts.clear();
    }

    /// The last cycles, each up to now, the oldest first.
    pub(super) fn cycles(&self) -> impl DoubleEndedIterator<Item = Cycle> {
        self.starts.iter().map(|start| Cycle { began: start.at, admitted: start.admitted })
    }

    /// The cycle that is on.
    pub(super) fn cycle(&self) -> Option<Cycle> {
        self.cycles().next_back()
    }

    fn position(&self, ticket: Ticket) -> usize {
        self.entries.partition_point(|entry| entry.ticket < ticket)
    }

    fn index(&self, ticket: Ticket) -> Option<usize> {
        let position = self.position(ticket);
        self.entries.get(position).filter(|entry| entry.ticket == ticket).map(|_| position)
    }
}

/// More of them say no more.
const MOST_REFUSED: usize = 64;
/// How many cycles are compared.
const CYCLES: usize = 3;
/// 1.5 MiB. Of a limit above so many per window only the rate is kept to.
pub(super) const MOST_ENTRIES: usize = 65_536;
