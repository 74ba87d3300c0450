//! What a session holds: documents that were submitted and have no outcome yet, with their sizes. So many wait that it never
//! runs dry, and no more than the sandbox has memory for.

use std::collections::HashMap;

use crate::contract::{Document, Event, Happening, PostponeReason, Verdict};
use crate::error::Error;

/// Documents without an outcome, and whether more are of use.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    bytes_by_id: HashMap<String, usize>,
    bytes: usize,
    /// What was said of one document holds for all that follow.
    is_closed: bool,
}

impl Waiting {
    /// Whether so many can join.
    pub(crate) fn check(&self, documents: &[Document]) -> Result<(), Error> {
        let bytes = documents.iter().map(bytes_of).fold(self.bytes, usize::saturating_add);
        if bytes > MOST_BYTES { Err(Error::Full(MOST_BYTES)) } else { Ok(()) }
    }

    /// They are in the session.
    pub(crate) fn add(&mut self, documents: impl IntoIterator<Item = (String, usize)>) {
        for (id, bytes) in documents {
            self.bytes += bytes;
            self.bytes -= self.bytes_by_id.insert(id, bytes).unwrap_or(0);
        }
    }

    /// The session takes no more, or more would be postponed too.
    pub(crate) const fn close(&mut self) {
        self.is_closed = true;
    }

    /// This happened.
    pub(crate) fn hear(&mut self, event: &Event) {
        match &event.what {
            Happening::Halted(_) => self.close(),
            Happening::Outcome(outcome) => {
                self.bytes -= self.bytes_by_id.remove(&outcome.id).unwrap_or(0);
                let is_beyond_patience = matches!(&outcome.verdict, Verdict::Postponed(postponed) if postponed.reason == PostponeReason::Patience);
                self.is_closed |= is_beyond_patience;
            }
            _ => {}
        }
    }

    /// Whether another document has a chance.
    pub(crate) const fn takes_more(&self) -> bool {
        !self.is_closed
    }

    /// How many documents can join with so many queued; of large ones fewer.
    pub(crate) fn room(&self, queued: u32, max_in_flight: u32) -> usize {
        let ahead = (2 * max_in_flight).max(LEAST_AHEAD);
        match self.is_closed || self.bytes >= ENOUGH_BYTES {
            true => 0,
            false => ahead.saturating_sub(queued) as usize,
        }
    }
}

/// What of a document counts.
pub(crate) fn bytes_of(document: &Document) -> usize {
    document.content().len()
}

/// From 64 documents that wait the policy sees that there is more to come; so many do still when others have gone out.
const LEAST_AHEAD: u32 = 128;
/// With so much waiting, one more is no gain.
pub(crate) const ENOUGH_BYTES: usize = 64 * 1024 * 1024;
/// The sandbox has 2 GiB, and holds a document up to four times.
const MOST_BYTES: usize = 256 * 1024 * 1024;
