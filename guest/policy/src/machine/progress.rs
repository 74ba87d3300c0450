//! How far one document has come.

use crate::learner::Sent;
use crate::outcome::{Ending, Outcome};
use crate::time::{Delay, Tick};

/// A document that has no outcome yet.
#[derive(Debug)]
pub(super) struct Progress {
    /// Prompt tokens, estimated, plus the tokens that the answer may take.
    pub(super) tokens: u64,
    pub(super) state: State,
    pub(super) attempts: u32,
    pub(super) faults: u32,
    pub(super) refusals: u32,
    /// When it was refused last, and how often it was again after others had been answered.
    refused_at: Option<Tick>,
    pub(super) refused_alone: u32,
    /// When its latest request went that failed, and how often one did after others that went later were answered.
    failed_sent_at: Option<Tick>,
    failed_alone: u32,
    /// When the endpoint was first seen to start up.
    pub(super) cold_since: Option<Tick>,
    /// Tries that failed and used up no attempt.
    pub(super) uncounted: u32,
    waited: Delay,
}

/// Where a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It can go as soon as gate and limits let it; the try before it ended then.
    Queued { since: Option<Tick> },
    /// It backs off after a fault until then; that try ended then.
    BackingOff { until: Tick, since: Tick },
    /// It is on the wire.
    InFlight(Flight),
}

/// A request on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) sent: Sent,
    /// The gate's episode that it was sent in.
    pub(super) episode: u32,
    /// When it will have taken too long.
    pub(super) overdue_at: Tick,
}

impl Progress {
    pub(super) const fn new(tokens: u64) -> Self {
        let state = State::Queued { since: None };
        Self {
            tokens,
            state,
            attempts: 0,
            faults: 0,
            refusals: 0,
            refused_at: None,
            refused_alone: 0,
            failed_sent_at: None,
            failed_alone: 0,
            cold_since: None,
            uncounted: 0,
            waited: Delay::ZERO,
        }
    }

    pub(super) fn send(&mut self, flight: Flight, now: Tick) {
        if let State::Queued { since: Some(since) } = self.state {
            self.waited = self.waited + now.since(since);
        }
        self.attempts += 1;
        self.state = State::InFlight(flight);
    }

    /// It was refused, in the ordinary course of things or while room was looked for; another document was answered last at
    /// that time.
    pub(super) fn refused(&mut self, is_ordinary: bool, answered_at: Option<Tick>, now: Tick) {
        self.refusals += 1;
        let is_alone = is_ordinary && self.refused_at.is_some_and(|before| answered_at > Some(before));
        self.refused_alone += u32::from(is_alone);
        self.refused_at = Some(now);
    }

    /// A request that went then failed; the latest that was answered went at that other time. Says how often it failed again
    /// after others that went later were answered.
    pub(super) fn failed(&mut self, answered_sent_at: Option<Tick>, sent_at: Tick) -> u32 {
        let is_alone = self.failed_sent_at.is_some_and(|before| answered_sent_at > Some(before));
        self.failed_alone += u32::from(is_alone);
        self.failed_sent_at = Some(sent_at);
        self.failed_alone
    }

    pub(super) const fn flight(&self) -> Option<Flight> {
        match self.state {
            State::InFlight(flight) => Some(flight),
            _ => None,
        }
    }

    pub(super) const fn end(&self, ending: Ending) -> Outcome {
        Outcome { ending, attempts: self.attempts, refusals: self.refusals, waited: self.waited }
    }
}
