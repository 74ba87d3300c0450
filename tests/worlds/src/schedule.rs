//! When what happens in a world.

/// When what happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The time of the clairvoyant.
    pub ideal_ms: u64,
    /// When the limit changes.
    pub change_at_ms: Option<u64>,
    /// When the server is gone for 30 s.
    pub outage_at_ms: Option<u64>,
}

pub(crate) const OUTAGE_MS: u64 = 30_000;
