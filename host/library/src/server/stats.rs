//! What a server counts.

use serde::Serialize;

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Completion requests that set out; where there is a delay, some may still be on their way.
    pub sent: u64,
    /// Completion requests that arrived.
    pub received: u64,
    /// Requests that were admitted and are over: answered, or given up by the client.
    pub answered: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that are being answered.
    pub in_flight: u64,
    /// The most that were being answered at one time.
    pub max_in_flight: u64,
    /// Tokens that were reserved for the admitted requests.
    pub tokens: u64,
    /// TCP connections that were accepted.
    pub connections: u64,
}

/// A request that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Since the server's start.
    pub at_ms: u64,
    /// Whether it was admitted.
    pub admitted: bool,
    /// How long its answer takes, if it was.
    pub latency_ms: u64,
}
