//! How many requests may be on the wire. An endpoint that is overloaded is asked less of: the allowance halves, once per
//! round, and grows by one with every full round of answers. Where that came after a long calm, and the calm goes on, it was
//! chance: then all is allowed again at once.

use crate::learner::Ticket;

/// The allowance of requests in flight.
#[derive(Debug)]
pub(crate) struct Allowance {
    most: u32,
    now: u32,
    /// Answers since it last changed.
    answers: u32,
    /// The first request that was sent after it last changed; earlier ones tell of the time before.
    since: Ticket,
    /// Answers since it was halved, and what it was before, if that may have been for nothing.
    calm: u32,
    before: Option<u32>,
}

impl Allowance {
    pub(crate) const fn new(most: u32) -> Self {
        Self { most, now: most, answers: 0, since: 0, calm: 0, before: None }
    }

    /// Requests that may be on the wire at one time.
    pub(crate) const fn requests(&self) -> usize {
        self.now as usize
    }

    /// This request met an overload; `next` is the next that will be sent.
    pub(crate) fn halve(&mut self, overloaded: Ticket, next: Ticket) {
        if overloaded >= self.since {
            let before = (self.calm >= LONG_CALM).then_some(self.now);
            *self = Self { now: (self.now / 2).max(1), answers: 0, since: next, calm: 0, before, ..*self };
        }
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self) {
        self.calm = self.calm.saturating_add(1);
        if self.calm >= SHORT_CALM
            && let Some(before) = self.before.take()
        {
            self.now = self.now.max(before);
        }
        self.answers += 1;
        if self.answers >= self.now {
            self.answers = 0;
            self.now = (self.now + 1).min(self.most);
        }
    }
}

/// Answers without an overload.
const LONG_CALM: u32 = 64;
const SHORT_CALM: u32 = 8;

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
    fn two_faults_in_a_long_calm_are_chance() {
        let mut allowance = Allowance::new(8);
        (0..64).for_each(|_| allowance.answered());
        allowance.halve(70, 71);
        (0..7).for_each(|_| allowance.answered());
        assert_eq!(allowance.requests(), 5);
        allowance.answered();
        assert_eq!(allowance.requests(), 8);
    }
}
