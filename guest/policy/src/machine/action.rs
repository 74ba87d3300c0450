//! What the machine tells its driver to do, and what it tells whoever watches.

use alloc::string::String;

use crate::belief::Limit;
use crate::hints::IgnoredHint;
use crate::outcome::{Failure, Outcome};
use crate::reply::Headers;
use crate::settings::Rate;
use crate::time::{Delay, Tick};

/// Names a document from `submit` until its `Finish`; then the name is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey(pub(super) usize);

impl DocumentKey {
    /// The name as a small number, fit for an index.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// What to do now.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send the request of this document; it is the attempt of that number, with so many in flight including it.
    Send {
        /// Whose request.
        document: DocumentKey,
        /// 1 for the first try.
        attempt: u32,
        /// Requests on the wire, this one included.
        in_flight: u32,
    },
    /// Drop the request of this document, if it is still on the wire: it took too long. Nothing is to be handed back.
    Abort {
        /// Whose request.
        document: DocumentKey,
    },
    /// This document has come to its end.
    Finish {
        /// Which document.
        document: DocumentKey,
        /// What became of it.
        outcome: Outcome,
    },
    /// Tell whoever watches.
    Tell(News),
    /// Nothing to do before that instant, or before an answer comes; without an instant, before an answer comes.
    Wait(Option<Tick>),
    /// Every document has come to its end.
    Idle,
}

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Nothing will be sent for a second or more.
    Paused(Pause),
    /// A request goes out again.
    Resumed,
    /// A limit became known, or known better.
    Learnt(Limit),
    /// A hint could not be read.
    HintIgnored(IgnoredHint),
    /// A request was refused.
    Refused(Refusal),
    /// A try ended in a fault; its document goes again.
    Faulted(Trouble),
    /// A failure that would hit every document.
    Halted(Failure),
}

/// A time without requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it ends.
    pub until: Tick,
    /// Why it is.
    pub reason: PauseReason,
    /// The limit that is waited for, if it is known.
    pub limit: Option<Rate>,
}

/// Why nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// The endpoint refused a request.
    Refused,
    /// A limit's window is full.
    Limit,
    /// The pace.
    Pace,
    /// Back-off after faults.
    BackOff,
}

/// A request that the endpoint did not admit.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Whose request.
    pub document: DocumentKey,
    /// HTTP status.
    pub status: u16,
    /// Nothing is sent for this long.
    pub wait: Delay,
    /// The part of it that is jitter.
    pub jitter: Delay,
    /// Where the wait comes from: a header, or one of our own rules.
    pub source: &'static str,
    /// What the endpoint says about it; empty if nothing.
    pub message: String,
    /// All header fields of the refusal.
    pub headers: Headers,
}

/// A try that ended in a fault and is not its document's end.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// Whether the request may have reached the endpoint.
    pub reached: bool,
    /// Whose request.
    pub document: DocumentKey,
    /// What happened.
    pub failure: Failure,
    /// Its document waits for so long; jitter is part of it.
    pub wait: Delay,
    /// The part of it that is jitter.
    pub jitter: Delay,
    /// Where the wait comes from: a header, or our own back-off.
    pub source: &'static str,
}
