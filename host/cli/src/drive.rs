//! Feeds a session and pulls from it: documents are read as there is room for them, so a batch need not fit into memory.

use std::collections::HashMap;
use std::iter::Peekable;
use std::time::Duration;

use anyhow::Result;
use becalm::documents::{InputError, Row};
use becalm::{Document, Error, Event, Happening, Outcome, PostponeReason, Session, Status, SubmitError, Verdict};
use jiff::Timestamp;

use super::stop::{Reason, Stop};

/// Hears what happens.
pub(crate) trait Watcher {
    /// Whether this document may be submitted now.
    fn admits(&mut self, _document: &Document) -> bool {
        true
    }

    /// It is submitted.
    fn submitting(&mut self, _document: &Document) {}

    /// This happened, oldest first. An error breaks the batch off.
    fn events(&mut self, events: &[Event]) -> Result<()>;

    /// A moment has passed. An error breaks the batch off.
    fn tick(&mut self, status: &Status) -> Result<()>;

    /// Why nothing more is to be sent.
    fn objection(&self) -> Option<Reason> {
        None
    }
}

/// Brings the documents home; `moment` is how often the watcher hears at least. Says why it ended early, if it did: what
/// was not submitted when the batch was stopped, halted, or ran out of patience is left.
pub(crate) async fn drive<Rows>(
    session: &mut Session,
    rows: Rows,
    stop: &Stop,
    moment: Duration,
    watcher: &mut impl Watcher,
) -> Result<Option<Reason>>
where
    Rows: Iterator<Item = Result<Row, InputError>>,
{
    let ahead = (2 * session.max_in_flight()).max(LEAST_AHEAD);
    let mut feed = Feed { rows: rows.peekable(), is_open: true, waiting: HashMap::new(), waiting_bytes: 0 };
    let mut stopped: Option<Option<Reason>> = None;
    let mut unreadable = None;
    let mut status = session.status().await?;
    loop {
        if feed.is_open && status.queued < ahead {
            // What is on the wire is paid for: it comes home before an error is told.
            unreadable = feed.submit(ahead - status.queued, session, watcher).await?.or(unreadable);
        }
        let reason = stop.reason().or_else(|| watcher.objection()).or_else(|| feed.is_stuck(watcher));
        if stopped.is_none() && (reason.is_some() || unreadable.is_some()) {
            session.stop().await?;
            (feed.is_open, stopped) = (false, Some(reason));
        }
        if stopped.is_some() && stop.is_over() {
            // What is on the wire is given up with the session.
            break;
        }
        let events = session.next(moment).await?;
        watcher.events(&events)?;
        events.iter().for_each(|event| feed.hear(event));
        status = session.status().await?;
        watcher.tick(&status)?;
        if events.is_empty() && feed.is_empty() && status.queued == 0 && status.in_flight == 0 {
            break;
        }
    }
    unreadable.map_or(Ok(stopped.flatten()), |error| Err(error.into()))
}

/// The documents that are still to be submitted.
struct Feed<Rows: Iterator> {
    rows: Peekable<Rows>,
    /// Whether the session takes more.
    is_open: bool,
    /// What is submitted and has no outcome yet, with its size.
    waiting: HashMap<String, usize>,
    waiting_bytes: usize,
}

impl<Rows: Iterator<Item = Result<Row, InputError>>> Feed<Rows> {
    /// Submits the next documents, as many as there is room for; those that cannot be used have their outcome at once. Gives
    /// back what cannot be read.
    async fn submit(
        &mut self,
        room: u32,
        session: &mut Session,
        watcher: &mut impl Watcher,
    ) -> Result<Option<InputError>> {
        let (mut portion, mut unreadable) = (vec![], None);
        for _ in 0..room {
            if self.waiting_bytes >= MOST_BYTES || !self.is_admitted(watcher) {
                break;
            }
            match self.rows.next() {
                Some(Ok(Row::Document(document))) => {
                    let bytes = document.content().len();
                    self.waiting_bytes += bytes;
                    self.waiting.insert(document.id.clone(), bytes);
                    watcher.submitting(&document);
                    portion.push(document);
                }
                Some(Ok(Row::Unusable(unusable))) => watcher.events(&[ended(unusable.outcome())])?,
                Some(Err(error)) => {
                    unreadable = Some(error);
                    break;
                }
                None => break,
            }
        }
        if !portion.is_empty() {
            match session.submit(portion).await {
                Err(Error::Submit(SubmitError::Stopped)) => self.is_open = false,
                submitted => submitted?,
            }
        }
        Ok(unreadable)
    }

    fn is_admitted(&mut self, watcher: &mut impl Watcher) -> bool {
        match self.rows.peek() {
            Some(Ok(Row::Document(document))) => watcher.admits(document),
            _ => true,
        }
    }

    /// The next document is not admitted, and no outcome will come that could change it.
    fn is_stuck(&mut self, watcher: &mut impl Watcher) -> Option<Reason> {
        (self.is_open && self.waiting.is_empty() && !self.is_admitted(watcher)).then_some(Reason::Budget)
    }

    fn hear(&mut self, event: &Event) {
        let Happening::Outcome(Outcome { id, verdict, .. }) = &event.what else { return };
        self.waiting_bytes -= self.waiting.remove(id).unwrap_or(0);
        // What waits behind the same limit would only be put off too.
        let is_beyond_patience =
            matches!(verdict, Verdict::Postponed(put_off) if put_off.reason == PostponeReason::Patience);
        self.is_open &= !is_beyond_patience;
    }

    fn is_empty(&mut self) -> bool {
        !self.is_open || self.rows.peek().is_none()
    }
}

/// An outcome that the session knows nothing of.
fn ended(outcome: Outcome) -> Event {
    let at = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    Event { at, what: Happening::Outcome(outcome) }
}

/// How long to wait for something to happen: often enough for a countdown in seconds and for Ctrl-C.
pub(crate) const MOMENT: Duration = Duration::from_millis(200);
/// Twice as many documents as may be in flight wait in the session, so that it never runs dry between two calls; and so many
/// at least, from which it sees that there is more to come.
const LEAST_AHEAD: u32 = 128;
/// With more than that submitted, nothing is read: the sandbox has 2 GiB, and holds a document up to four times.
const MOST_BYTES: usize = 64 * 1024 * 1024;
