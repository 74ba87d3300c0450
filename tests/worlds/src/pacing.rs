//! How long a job takes at best: every request arrives as early as it can. When that is, the client knows: the clairvoyant of
//! `schedule`, or the one of `obedient`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::times::Times;
use crate::world::{Document, World};

/// Who sends the requests.
pub(crate) trait Client {
    /// The first instant from then on at which a request may arrive, whichever it is.
    fn allowed(&self, from_ms: u64) -> u64 {
        from_ms
    }

    /// What becomes of the request for this document, which the order and a free place let arrive then; nothing if none is
    /// sent.
    fn arrive(&mut self, from_ms: u64, document: Document) -> Option<Arrival>;
}

/// A request that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at_ms: u64,
    /// Absent: it is answered.
    pub(crate) refusal: Option<Refusal>,
}

/// A request that was not answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    /// When its place on the wire is free.
    pub(crate) returned_ms: u64,
    /// When the next one for its document can arrive; absent: none ever has to.
    pub(crate) again_ms: Option<u64>,
}

/// When the last answer has come.
pub(crate) fn pace(world: &World, client: &mut impl Client) -> u64 {
    let times = Times::of(world);
    let delay_ms = times.mean_delay_ms();
    let places = world.cap.unwrap_or(u32::MAX).min(world.max_in_flight).max(1);
    let mut free_at = BinaryHeap::from(vec![Reverse(0); places as usize]);
    let job = world.job();
    let mut queue = Queue { fresh: 0..job.len(), again: BinaryHeap::new() };
    let (mut answers, mut last_ms, mut end_ms) = (0, 0, 0);
    while let Some(mut place) = free_at.peek_mut() {
        let free_ms = client.allowed(last_ms.max(place.0 + delay_ms));
        let Some((from_ms, number)) = queue.next(free_ms) else { break };
        let Some(Arrival { at_ms, refusal }) = client.arrive(from_ms, job[number]) else { continue };
        last_ms = at_ms;
        if let Some(Refusal { returned_ms, again_ms }) = refusal {
            place.0 = place.0.max(returned_ms);
            queue.again.extend(again_ms.map(|again_ms| Reverse((again_ms, number))));
            continue;
        }
        place.0 = at_ms + times.ideal_service_ms(answers) + delay_ms;
        end_ms = end_ms.max(place.0);
        answers += 1;
    }
    end_ms
}

/// Documents, by their numbers, that have to be sent.
struct Queue {
    fresh: Range<usize>,
    /// With the instant before which none can arrive.
    again: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Queue {
    /// The next one, and when it can arrive: one that was refused as soon as that is possible, until then a fresh one.
    fn next(&mut self, from_ms: u64) -> Option<(u64, usize)> {
        let is_due = |Reverse((again_ms, _)): &Reverse<(u64, usize)>| *again_ms <= from_ms || self.fresh.is_empty();
        match self.again.peek().is_some_and(is_due) {
            true => self.again.pop().map(|Reverse((again_ms, number))| (again_ms.max(from_ms), number)),
            false => self.fresh.next().map(|number| (from_ms, number)),
        }
    }
}
