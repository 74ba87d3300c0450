//! Feeds a session and pulls from it: documents are read as there is room for them, so a batch need not fit into memory.

use std::iter::Peekable;
use std::time::Duration;

use anyhow::Result;
use becalm::documents::{InputError, Row};
use becalm::{Document, Error, Event, Happening, Outcome, Session, Status, SubmitError};
use jiff::Timestamp;

use crate::batch::stop::{Reason, Stop};

/// Hears what happens.
pub(crate) trait Observer {
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

/// Brings the documents home; `moment` is how often the observer hears at least. Says why it ended early, if it did: what
/// was not submitted when the batch was stopped, halted, or ran out of patience is left.
pub(crate) async fn feed<Rows>(
    session: &mut Session,
    rows: Rows,
    stop: &Stop,
    moment: Duration,
    observer: &mut impl Observer,
) -> Result<Option<Reason>>
where
    Rows: Iterator<Item = Result<Row, InputError>>,
{
    let mut feeder = Feeder { rows: rows.peekable(), waiting: 0 };
    let mut stopped: Option<Option<Reason>> = None;
    let mut unreadable = None;
    let mut status = session.status().await?;
    loop {
        if stopped.is_none() {
            // What is on the wire is paid for: it comes home before an error is told.
            unreadable = feeder.submit(session, &status, observer).await?.or(unreadable);
        }
        let reason = stop.reason().or_else(|| observer.objection()).or_else(|| feeder.is_stuck(session, observer));
        if stopped.is_none() && (reason.is_some() || unreadable.is_some()) {
            session.stop().await?;
            stopped = Some(reason);
        }
        if stopped.is_some() && stop.is_over() {
            // What is on the wire is given up with the session.
            break;
        }
        let events = session.next(moment).await?;
        observer.events(&events)?;
        feeder.hear(&events);
        status = session.status().await?;
        observer.tick(&status)?;
        if feeder.is_empty(session) && session.is_done().await? {
            break;
        }
    }
    unreadable.map_or(Ok(stopped.flatten()), |error| Err(error.into()))
}

/// The documents that are still to be submitted.
struct Feeder<Rows: Iterator> {
    rows: Peekable<Rows>,
    /// Submitted, and without an outcome yet.
    waiting: u64,
}

impl<Rows: Iterator<Item = Result<Row, InputError>>> Feeder<Rows> {
    /// Submits the next documents, as many as there is room for; those that cannot be used have their outcome at once. Gives
    /// back what cannot be read.
    async fn submit(
        &mut self,
        session: &mut Session,
        status: &Status,
        observer: &mut impl Observer,
    ) -> Result<Option<InputError>> {
        let (mut portion, mut bytes, mut unreadable) = (vec![], 0, None);
        for _ in 0..session.room(status) {
            if bytes >= ENOUGH_BYTES || !self.is_admitted(observer) {
                break;
            }
            match self.rows.next() {
                Some(Ok(Row::Document(document))) => {
                    bytes += document.content().len();
                    observer.submitting(&document);
                    portion.push(document);
                }
                Some(Ok(Row::Unusable(unusable))) => observer.events(&[ended(unusable.outcome())])?,
                Some(Err(error)) => {
                    unreadable = Some(error);
                    break;
                }
                None => break,
            }
        }
        if !portion.is_empty() {
            let count = portion.len() as u64;
            match session.submit(portion).await {
                Err(Error::Submit(SubmitError::Stopped)) => {}
                submitted => {
                    submitted?;
                    self.waiting += count;
                }
            }
        }
        Ok(unreadable)
    }

    fn is_admitted(&mut self, observer: &mut impl Observer) -> bool {
        match self.rows.peek() {
            Some(Ok(Row::Document(document))) => observer.admits(document),
            _ => true,
        }
    }

    /// The next document is not admitted, and no outcome will come that could change it.
    fn is_stuck(&mut self, session: &Session, observer: &mut impl Observer) -> Option<Reason> {
        let is_stuck = session.takes_more() && self.waiting == 0 && !self.is_admitted(observer);
        is_stuck.then_some(Reason::Budget)
    }

    fn hear(&mut self, events: &[Event]) {
        let outcomes = events.iter().filter(|event| matches!(event.what, Happening::Outcome(_))).count();
        self.waiting = self.waiting.saturating_sub(outcomes as u64);
    }

    fn is_empty(&mut self, session: &Session) -> bool {
        !session.takes_more() || self.rows.peek().is_none()
    }
}

/// An outcome that the session knows nothing of.
fn ended(outcome: Outcome) -> Event {
    let at = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    Event { at, what: Happening::Outcome(outcome) }
}

/// How long to wait for something to happen: often enough for a countdown in seconds and for Ctrl-C.
pub(crate) const MOMENT: Duration = Duration::from_millis(200);
/// So much goes in with one call; the session has room for a few of them.
const ENOUGH_BYTES: usize = 64 * 1024 * 1024;
