//! What happens in a plan, added up.

use std::time::Duration;

use anyhow::Result;
use becalm::outcomes::{Figures, Spending};
use becalm::{Document, Event, FailureKind, Happening, Status, Verdict};

use crate::batch::earlier::Earlier;
use crate::batch::feeder::Observer;
use crate::batch::stop::Reason;
use crate::flags::checked::CheckedBatch;
use crate::terminal::output::aside;
use crate::terminal::progress::Progress;

/// Adds up what happens.
pub(crate) struct PlanTally {
    pub(crate) figures: Figures,
    pub(crate) spending: Spending,
    pub(crate) earlier: Earlier,
    /// Documents that cannot be used.
    pub(crate) unusable: u64,
    pub(crate) pauses: u64,
    pub(crate) paused: Duration,
    progress: Progress,
    paused_at: Option<u64>,
}

impl PlanTally {
    /// Says what is odd about the batch, and begins.
    pub(crate) fn new(batch: &CheckedBatch, earlier: Earlier) -> Self {
        for warning in batch.inputs.warnings().iter().cloned().chain(earlier.warning(batch.resend)) {
            aside(format_args!("warning: {warning}"));
        }
        Self {
            figures: Figures::default(),
            spending: batch.spending(),
            progress: Progress::new(batch.inputs.count(), earlier.done()),
            earlier,
            unusable: 0,
            pauses: 0,
            paused: Duration::ZERO,
            paused_at: None,
        }
    }

    /// Nothing more is shown.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    fn event(&mut self, event: &Event) {
        self.figures.add(event);
        self.spending.add(event);
        match &event.what {
            Happening::Outcome(outcome) => {
                self.progress.step();
                let is_unusable = matches!(&outcome.verdict, Verdict::Failed(failure) if failure.kind == FailureKind::InvalidDocument);
                self.unusable += u64::from(is_unusable);
            }
            Happening::Paused(_) if self.paused_at.is_none() => {
                (self.pauses, self.paused_at) = (self.pauses + 1, Some(event.at));
            }
            Happening::Resumed => {
                let since = self.paused_at.take().unwrap_or(event.at);
                self.paused += Duration::from_millis(event.at.saturating_sub(since));
            }
            _ => {}
        }
    }
}

impl Observer for PlanTally {
    fn admits(&mut self, document: &Document) -> bool {
        self.spending.admits(document)
    }

    fn submitting(&mut self, document: &Document) {
        self.spending.open(document);
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        events.iter().for_each(|event| self.event(event));
        Ok(())
    }

    fn tick(&mut self, _status: &Status) -> Result<()> {
        Ok(())
    }

    fn objection(&self) -> Option<Reason> {
        self.spending.is_at_risk().then_some(Reason::Budget)
    }
}
