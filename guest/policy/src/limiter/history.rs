//! What was sent lately and what came of it: against it, what an endpoint states can be read.

use alloc::collections::VecDeque;

use crate::learner::Ticket;
use crate::settings::Unit;
use crate::time::{Delay, Tick};
use crate::usual::{ROUNDING, USUAL_WINDOWS};

/// The latest requests, oldest first.
#[derive(Debug, Default)]
pub(super) struct History(VecDeque<Sent>);

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) ticket: Ticket,
    pub(super) at: Tick,
    pub(super) tokens: u64,
    pub(super) is_refused: bool,
    /// When it was answered, and the tokens that it really took.
    pub(super) answered: Option<(Tick, u64)>,
}

impl Sent {
    /// What it takes of a limit.
    pub(super) const fn cost(&self, unit: Unit) -> u64 {
        unit.cost(self.tokens)
    }
}

impl History {
    pub(super) fn sent(&mut self, ticket: Ticket, at: Tick, tokens: u64) {
        if self.0.len() == MOST_ENTRIES {
            self.0.pop_front();
        }
        self.0.push_back(Sent { ticket, at, tokens, is_refused: false, answered: None });
    }

    pub(super) fn refused(&mut self, ticket: Ticket) {
        if let Some(index) = self.index(ticket) {
            self.0[index].is_refused = true;
        }
    }

    pub(super) fn answered(&mut self, ticket: Ticket, now: Tick, tokens: Option<u64>) {
        if let Some(index) = self.index(ticket) {
            self.0[index].answered = tokens.map(|tokens| (now, tokens));
        }
    }

    /// The tokens in the window that ended when this request was sent: as they were reserved, and with those replaced by
    /// what was really taken that had been answered by then.
    pub(super) fn tokens_at(&self, last: Ticket, window: Delay) -> Option<(u64, u64)> {
        let end = self.sent_at(last)?;
        let before = self.iter().rev().skip_while(|sent| sent.ticket > last);
        let inside = before.take_while(|sent| sent.at + window > end).filter(|sent| !sent.is_refused);
        Some(inside.fold((0, 0), |(reserved, settled), sent| {
            let taken = sent.answered.filter(|(at, _)| *at <= end).map_or(sent.tokens, |(_, tokens)| tokens);
            (reserved + sent.tokens, settled + taken)
        }))
    }

    /// All that is still remembered.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Sent> {
        self.0.iter()
    }

    /// Of the latest requests up to this one that were admitted and took so much, the oldest; nothing if they took less.
    pub(super) fn oldest_of(&self, unit: Unit, used: u64, last: Ticket) -> Option<Tick> {
        let mut taken = 0;
        let mut admitted = self.iter().rev().filter(|sent| sent.ticket <= last && !sent.is_refused);
        admitted.find_map(|sent| {
            taken += sent.cost(unit);
            (taken >= used).then_some(sent.at)
        })
    }

    /// When this request was sent, if it is still remembered.
    pub(super) fn sent_at(&self, ticket: Ticket) -> Option<Tick> {
        self.index(ticket).map(|index| self.0[index].at)
    }

    fn index(&self, ticket: Ticket) -> Option<usize> {
        self.0.binary_search_by_key(&ticket, |sent| sent.ticket).ok()
    }
}

/// Hints are rounded up, dates by up to two seconds, so a window comes out too long, or a little too short where requests
/// were not on their way for the same time; if there is a usual one so near, it is that.
pub(super) fn usual_near(window: Delay) -> Delay {
    let above = ROUNDING.min(window.divided_by(20));
    let below = window.divided_by(100);
    let is_near = |usual: &Delay| window <= *usual + above && *usual <= window + below;
    USUAL_WINDOWS.iter().copied().find(is_near).unwrap_or(window)
}

/// 4 MiB. The window behind a budget above that is not seen.
const MOST_ENTRIES: usize = 100_000;
