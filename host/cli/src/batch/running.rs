//! A batch on its way home: every outcome into the journal, every event to whoever watches, tokens and money counted.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use becalm::documents::{ChatFingerprint, Fingerprint, Prefetch};
use becalm::outcomes::{Figures, Journal, Spending};
use becalm::{Document, Event, Happening, Limit, Status};

use crate::batch::earlier::Earlier;
use crate::batch::feeder::Observer;
use crate::batch::stop::Reason;
use crate::events::write;
use crate::exit::Exit;
use crate::flags::checked::CheckedBatch;
use crate::terminal::reporter::Reporter;
use crate::terminal::summary::Summary;

/// A batch that is under way.
pub(crate) struct Running {
    journal: Journal,
    figures: Figures,
    reporter: Reporter,
    count: u64,
    can_go_on: bool,
    earlier: Earlier,
    spending: Spending,
    chat: ChatFingerprint,
    /// What the documents contain that have no outcome yet.
    contents: HashMap<String, Fingerprint>,
}

impl Running {
    /// Opens what it writes to, and says what is odd. The reporter is made for so many documents that are done already.
    pub(crate) fn new(batch: &CheckedBatch, reporter: impl FnOnce(u64) -> Result<Reporter>) -> Result<Self> {
        let CheckedBatch { inputs, settings, output, resend, .. } = batch;
        let journal = output.as_deref().map_or_else(|| Ok(Journal::stdout()), Journal::open)?;
        let chat = ChatFingerprint::of(&settings.chat);
        let earlier = Earlier::of(inputs, &journal.history(), chat, *resend);
        let mut reporter = reporter(earlier.done())?;
        reporter.note(&write::started(inputs.count(), &earlier, settings));
        let (count, spending, can_go_on) = (inputs.count(), batch.spending(), journal.can_go_on());
        let figures = Figures::default();
        let mut running =
            Self { journal, figures, reporter, count, can_go_on, earlier, spending, chat, contents: HashMap::new() };
        running.warn(batch);
        Ok(running)
    }

    fn warn(&mut self, batch: &CheckedBatch) {
        let torn = self.journal.torn_bytes();
        let torn = (torn > 0).then(|| format!("the last line of the results was torn; its {torn} bytes were cut off"));
        let stream = batch.output.as_deref().filter(|_| !self.can_go_on);
        let stream = stream.map(|path| format!("{} is no file: no later run can go on from it", path.display()));
        let odd = batch.inputs.warnings().iter().cloned().chain(torn).chain(stream);
        odd.chain(self.earlier.warning(batch.resend)).for_each(|warning| self.reporter.warn(&warning));
    }

    /// Says where it goes, and what is different from what was asked for.
    pub(crate) fn begin(&mut self, begins: &str, warning: Option<&str>) {
        self.reporter.begin(begins);
        warning.iter().for_each(|warning| self.reporter.warn(warning));
    }

    /// The documents that have to go.
    pub(crate) fn rows(&self, batch: &CheckedBatch) -> Prefetch {
        batch.resend.rows(&batch.inputs, &self.journal.history(), self.chat)
    }

    /// How many documents were answered so far.
    pub(crate) const fn answered(&self) -> u64 {
        self.figures.answered
    }

    /// Nothing more will happen: makes sure that what did survives the machine.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.reporter.finish();
        self.journal.sync().context("cannot write the results")
    }

    /// Says what it came to.
    pub(crate) fn end(
        &mut self,
        elapsed: Duration,
        (bound, is_bound_learnt): (Duration, bool),
        limits: &[Limit],
        stopped: Option<Reason>,
    ) -> Exit {
        let Self { figures, earlier, spending, reporter, .. } = self;
        let ended = earlier.answered + earlier.failed + figures.answered + figures.failed + figures.postponed;
        // The input may have grown since it was looked at.
        let left = self.count.saturating_sub(ended);
        let summary = Summary {
            figures,
            earlier,
            spending,
            elapsed,
            bound,
            is_bound_learnt,
            limits,
            left,
            can_go_on: self.can_go_on,
            stopped,
        };
        reporter.sum_up(&write::summary(&summary), &summary.lines());
        match figures {
            Figures { halted: Some(_), .. } => Exit::Halted,
            Figures { postponed, .. } if *postponed + left > 0 => Exit::Unfinished,
            Figures { failed, .. } if *failed + earlier.failed > 0 => Exit::SomeFailed,
            _ => Exit::Done,
        }
    }
}

impl Observer for Running {
    fn admits(&mut self, document: &Document) -> bool {
        self.spending.admits(document)
    }

    fn submitting(&mut self, document: &Document) {
        self.spending.open(document);
        self.contents.insert(document.id.clone(), Fingerprint::of(document, self.chat));
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        // First of all: they are paid for.
        let outcomes = events.iter().filter_map(|event| match &event.what {
            Happening::Outcome(outcome) => Some((outcome, self.contents.remove(&outcome.id))),
            _ => None,
        });
        self.journal.append(outcomes).context("cannot write the results")?;
        for event in events {
            self.figures.add(event);
            self.spending.add(event);
            self.reporter.event(event);
        }
        Ok(())
    }

    fn tick(&mut self, status: &Status) -> Result<()> {
        self.reporter.tick(status, &self.spending);
        self.journal.sync_now_and_then().context("cannot write the results")
    }

    fn objection(&self) -> Option<Reason> {
        self.spending.is_at_risk().then_some(Reason::Budget)
    }
}
