//! How many requests may be on the wire. An endpoint that is overloaded is asked less of: the allowance halves, once per
//! round, and grows by one with every full round of answers. One that names the number of requests at a time as its reason
//! shows that number: what it did not refuse. Beyond it only a try now and then goes.

use crate::limiter::Ticket;

/// The allowance of requests in flight.
#[derive(Debug)]
pub(crate) struct Allowance {
    most: u32,
    now: u32,
    /// Answers since it last changed.
    answers: u32,
    /// Full rounds of answers before it grows.
    rounds: u32,
    /// The first request that was sent after it last changed; earlier ones tell of the time before.
    since: Ticket,
}

impl Allowance {
    pub(crate) const fn new(most: u32) -> Self {
        Self { most, now: most, answers: 0, rounds: 1, since: 0 }
    }

    /// Requests that may be on the wire at one time.
    pub(crate) const fn requests(&self) -> usize {
        self.now as usize
    }

    /// This request met an overload; `next` is the next that will be sent.
    pub(crate) fn halve(&mut self, overloaded: Ticket, next: Ticket) {
        if overloaded >= self.since {
            *self = Self { now: (self.now / 2).max(1), answers: 0, rounds: 1, since: next, ..*self };
        }
    }

    /// This request was one too many beside so many others; `next` is the next that will be sent.
    pub(crate) fn crowd(&mut self, refused: Ticket, others: usize, next: Ticket) {
        let others = u32::try_from(others).unwrap_or(u32::MAX).clamp(1, self.now);
        let rounds = if refused >= self.since { (2 * self.rounds).clamp(CROWDED, MOST_ROUNDS) } else { self.rounds };
        *self = Self { now: others, answers: 0, rounds, since: next, ..*self };
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self) {
        self.answers += 1;
        if self.answers >= self.now.saturating_mul(self.rounds) {
            self.answers = 0;
            self.now = (self.now + 1).min(self.most);
        }
    }
}

/// Rounds before the first try to have one more on the wire than an endpoint took; each that fails doubles them.
const CROWDED: u32 = 4;
const MOST_ROUNDS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_once_per_round_and_grows_by_one_with_each() {
        let mut allowance = Allowance::new(8);
        allowance.halve(3, 8);
        allowance.halve(4, 8);
        assert_eq!(allowance.requests(), 4);
        (0..4).for_each(|_| allowance.answered());
        assert_eq!(allowance.requests(), 5);
        (8..20).for_each(|ticket| allowance.halve(ticket, ticket + 1));
        assert_eq!(allowance.requests(), 1);
        (0..100).for_each(|_| allowance.answered());
        assert_eq!(allowance.requests(), 8);
    }

    #[test]
    fn a_crowd_is_as_large_as_it_was_admitted() {
        let mut allowance = Allowance::new(8);
        (2..8).rev().for_each(|others| allowance.crowd(9 - others as u64, others, 8));
        assert_eq!(allowance.requests(), 2);
        (0..7).for_each(|_| allowance.answered());
        assert_eq!(allowance.requests(), 2, "four rounds of two are not over");
        allowance.answered();
        assert_eq!(allowance.requests(), 3);
        allowance.crowd(12, 2, 13);
        (0..15).for_each(|_| allowance.answered());
        assert_eq!(allowance.requests(), 2, "after a try that failed it takes eight rounds");
    }
}
