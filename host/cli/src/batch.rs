//! A batch on its way home: every outcome into the journal, every event to whoever watches, tokens and money counted.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use becalm::documents::{Asked, Fingerprint, Inputs};
use becalm::outcomes::{Figures, Journal, Spending};
use becalm::{Document, Event, Happening, Limit, Settings, Status};

use super::args::{self, Earlier};
use super::drive::Watcher;
use super::exit::Exit;
use super::json;
use super::stop::Reason;
use super::summary::Summary;
use super::voice::{self, Voice};

/// A batch that is under way.
pub(crate) struct Batch {
    pub(crate) journal: Journal,
    pub(crate) figures: Figures,
    pub(crate) voice: Voice,
    count: u64,
    can_go_on: bool,
    earlier: Earlier,
    spending: Spending,
    pub(crate) asked: Asked,
    /// What the documents contain that have no outcome yet.
    contents: HashMap<String, Fingerprint>,
}

impl Batch {
    /// Opens what it writes to, and says what is odd.
    pub(crate) fn new(
        args: &args::Batch,
        watching: &voice::Args,
        inputs: &Inputs,
        settings: &Settings,
    ) -> Result<Self> {
        let spending = args.spending(settings)?;
        let journal = args.output.as_deref().map_or_else(|| Ok(Journal::stdout()), Journal::open)?;
        let can_go_on = journal.can_go_on();
        let asked = Asked::of(&settings.chat);
        let earlier = args.earlier(inputs, &journal.past(), asked);
        let mut voice = Voice::new(watching, inputs.count(), earlier.answered + earlier.failed)?;
        voice.note(&json::started(inputs.count(), &earlier, settings));
        let torn = (journal.torn_bytes() > 0)
            .then(|| format!("the last line of the results was torn; its {} bytes were cut off", journal.torn_bytes()));
        let stream = args.output.as_deref().filter(|_| !can_go_on);
        let stream = stream.map(|path| format!("{} is no file: no later run can go on from it", path.display()));
        for warning in inputs.warnings().iter().cloned().chain(torn).chain(stream).chain(earlier.warning(args.force)) {
            voice.warn(&warning);
        }
        let (count, contents) = (inputs.count(), HashMap::new());
        Ok(Self { journal, figures: Figures::default(), voice, count, can_go_on, earlier, spending, asked, contents })
    }

    /// Says what it came to.
    pub(crate) fn end(
        &mut self,
        elapsed: Duration,
        (bound, is_bound_learnt): (Duration, bool),
        limits: &[Limit],
        stopped: Option<Reason>,
    ) -> Exit {
        let Self { figures, earlier, spending, voice, .. } = self;
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
        voice.sum_up(&json::summary(&summary), &summary.lines());
        match figures {
            Figures { halted: Some(_), .. } => Exit::Halted,
            Figures { postponed, .. } if *postponed + left > 0 => Exit::Unfinished,
            Figures { failed, .. } if *failed + earlier.failed > 0 => Exit::SomeFailed,
            _ => Exit::Done,
        }
    }
}

impl Watcher for Batch {
    fn admits(&mut self, document: &Document) -> bool {
        self.spending.admits(document)
    }

    fn submitting(&mut self, document: &Document) {
        self.spending.open(document);
        self.contents.insert(document.id.clone(), Fingerprint::of(document, self.asked));
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
            self.voice.event(event);
        }
        Ok(())
    }

    fn tick(&mut self, status: &Status) -> Result<()> {
        self.voice.tick(status, &self.spending);
        self.journal.sync_now_and_then().context("cannot write the results")
    }

    fn objection(&self) -> Option<Reason> {
        self.spending.is_at_risk().then_some(Reason::Budget)
    }
}
