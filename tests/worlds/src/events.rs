//! What is on its way, in the order of time; of one instant, in the order in which it was put in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A request reaches the next point of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) at_ms: u64,
    order: u64,
    pub(crate) stage: Stage,
    pub(crate) document: usize,
    /// The number of the request, which tells it from an earlier one for that document.
    pub(crate) request: u64,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// At the server.
    Arrived,
    /// Its answer leaves the server.
    Served,
    /// Its answer is at the client.
    Returned,
}

/// All that is on its way.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<Event>>,
    order: u64,
}

impl Events {
    pub(crate) fn push(&mut self, at_ms: u64, stage: Stage, document: usize, request: u64) {
        self.order += 1;
        self.heap.push(Reverse(Event { at_ms, order: self.order, stage, document, request }));
    }

    pub(crate) fn next_at_ms(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(event)| event.at_ms)
    }

    /// The first event, if it is due.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<Event> {
        self.next_at_ms().filter(|at| *at <= now_ms)?;
        self.heap.pop().map(|Reverse(event)| event)
    }
}
