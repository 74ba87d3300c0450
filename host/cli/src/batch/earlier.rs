//! What runs before this one brought home, and which documents it leaves to do.

use std::sync::Arc;

use becalm::documents::{ChatFingerprint, Inputs, Prefetch};
use becalm::outcomes::{Before, ResultHistory};

/// Which documents of earlier runs are sent again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resend {
    /// Those that have changed since.
    pub(crate) force: bool,
    /// Not those that failed.
    pub(crate) only_missing: bool,
    /// Those of whose answers something is missing, in the order of `Shortfall::ALL`.
    pub(crate) short: [bool; 3],
}

/// What earlier runs brought home.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Answered, and not sent again.
    pub(crate) answered: u64,
    /// Failed, and left at that.
    pub(crate) failed: u64,
    /// Answered with another content.
    changed: u64,
    first_changed: Option<String>,
}

impl Resend {
    /// The documents that have to go.
    pub(crate) fn rows(self, inputs: &Arc<Inputs>, history: &Arc<ResultHistory>, chat: ChatFingerprint) -> Prefetch {
        let history = Arc::clone(history);
        Prefetch::of(Arc::clone(inputs), move |row| !self.skips(history.before(row, chat)))
    }

    /// Whether one that fared so before is not sent.
    const fn skips(self, before: Before) -> bool {
        match before {
            Before::Never => false,
            Before::Answered => true,
            Before::Short(shortfall) => !self.short[shortfall as usize],
            Before::Changed => !self.force,
            Before::Failed => self.only_missing,
        }
    }
}

impl Earlier {
    /// Looks at all documents of the input.
    pub(crate) fn of(inputs: &Inputs, history: &ResultHistory, chat: ChatFingerprint, resend: Resend) -> Self {
        let mut earlier = Self::default();
        // Without a history there is nothing to compare the input with, and it need not be read once more.
        let known = (!history.is_empty()).then(|| inputs.rows().flatten());
        for row in known.into_iter().flatten() {
            let before = history.before(&row, chat);
            let is_skipped = u64::from(resend.skips(before));
            *if before == Before::Failed { &mut earlier.failed } else { &mut earlier.answered } += is_skipped;
            if before == Before::Changed {
                earlier.changed += 1;
                earlier.first_changed.get_or_insert_with(|| row.id().to_string());
            }
        }
        earlier
    }

    /// How many documents are done.
    pub(crate) const fn done(&self) -> u64 {
        self.answered + self.failed
    }

    /// What is odd about it.
    pub(crate) fn warning(&self, resend: Resend) -> Option<String> {
        let first = self.first_changed.as_ref()?;
        let advice = if resend.force { "sent again" } else { "not sent again; --force sends them" };
        Some(format!(
            "{} answered documents have changed since, or something else is asked of them, such as {first}: {advice}",
            self.changed
        ))
    }
}
