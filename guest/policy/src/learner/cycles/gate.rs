//! The gate of the learner: closed by a refusal, opened by one request that goes first and is admitted.

use crate::learner::protocol::Ticket;
use crate::time::{Delay, Tick};

/// Closed by a refusal, opened by one request that is admitted.
#[derive(Debug, Default)]
pub(super) struct Gate {
    pub(super) opens_at: Tick,
    pub(super) is_closed: bool,
    pub(super) episode: u32,
    /// Waves in a row without an admission.
    pub(super) consecutive_refusals: u32,
    pub(super) probe: Option<Probe>,
    /// The first request that went since the latest episode was refused.
    pub(super) first_of_episode: Option<(Ticket, Tick)>,
    /// When the latest request went that was refused: the window is longer than up to then.
    pub(super) refused_sent_at: Tick,
    /// When the latest episode was refused.
    pub(super) refused_at: Tick,
    pub(super) last_hint: Option<Delay>,
    /// No hint lets anyone go before that.
    pub(super) floor: Tick,
    /// When the wait ends that the latest episode was told, without any spread.
    pub(super) hint_ends: Option<Tick>,
    /// How often the hint has to be doubled.
    pub(super) doublings: u32,
}

/// The one request that goes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) ticket: Ticket,
    pub(super) at: Tick,
    /// It went because an answer had come back, not because the time was over.
    pub(super) by_answer: bool,
}

impl Gate {
    /// The first refusal of a episode. Where another of that episode was not refused for so long that it was admitted, the episodes
    /// are not in a row, however long answers take.
    pub(super) fn refused(&mut self, ticket: Ticket, silence: Delay, now: Tick) {
        let was_admitted = |(first, at): (Ticket, Tick)| first != ticket && at + silence <= now;
        if self.first_of_episode.take().is_some_and(was_admitted) {
            self.consecutive_refusals = 0;
        }
        self.episode = self.episode.wrapping_add(1);
        self.consecutive_refusals = self.consecutive_refusals.saturating_add(1);
        self.refused_at = now;
    }

    /// Nobody passes before that; nothing makes it earlier.
    pub(super) fn pause_until(&mut self, until: Tick) {
        self.opens_at = self.opens_at.max(until);
    }
}
