//! Feeds a session and pulls from it: documents are read as there is room for them, so a batch need not fit into memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use becalm::documents::InputError;
use becalm::{Document, Error, Event, Happening, Input, PostponeReason, Session, Status, SubmitError, Verdict};

use super::exit::Exit;

/// Hears what happens.
pub(crate) trait Watcher {
    /// Something happened. An error breaks the batch off.
    fn event(&mut self, event: &Event) -> Result<()>;

    /// A moment has passed.
    fn tick(&mut self, status: &Status);
}

/// Whether someone wants it to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ctrl-C asks to stop, a second one ends the process at once.
    pub(crate) fn on_interrupt() -> Self {
        let stop = Self::default();
        let asked = stop.clone();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if asked.0.swap(true, Ordering::Relaxed) {
                    std::process::exit(Exit::Unfinished as i32);
                }
                eprintln!("stopping: requests on the wire may end, nothing more is sent (Ctrl-C again: stop at once)");
            }
        });
        stop
    }

    /// Whether it was asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Brings the documents home. What was not submitted when the batch was stopped, halted, or ran out of patience is left.
pub(crate) async fn drive<Documents>(
    session: &mut Session,
    documents: Documents,
    stop: &Stop,
    watcher: &mut impl Watcher,
) -> Result<()>
where
    Documents: Iterator<Item = Result<Document, InputError>>,
{
    let mut documents = documents.peekable();
    let (mut is_open, mut is_stopped) = (true, false);
    let mut unreadable = None;
    loop {
        if stop.is_asked() && !is_stopped {
            session.stop().await?;
            (is_open, is_stopped) = (false, true);
        }
        let status = session.status().await?;
        if is_open && status.queued < LOW {
            match feed(session, &mut documents).await {
                Ok(takes_more) => is_open = takes_more,
                // What is on the wire is paid for: it comes home before the error is told.
                Err(error) => {
                    session.stop().await?;
                    (is_open, is_stopped, unreadable) = (false, true, Some(error));
                }
            }
        }
        let events = session.next(MOMENT).await?;
        if events.is_empty() && !(is_open && documents.peek().is_some()) && session.is_done().await? {
            return unreadable.map_or(Ok(()), Err);
        }
        for event in &events {
            watcher.event(event)?;
            is_open &= !is_beyond_patience(event);
        }
        watcher.tick(&session.status().await?);
    }
}

/// Submits the next documents. Says whether the session takes more.
async fn feed(
    session: &mut Session,
    documents: &mut impl Iterator<Item = Result<Document, InputError>>,
) -> Result<bool> {
    let (mut portion, mut bytes) = (vec![], 0);
    while portion.len() < PORTION && bytes < PORTION_BYTES {
        let Some(document) = documents.next().transpose()? else { break };
        bytes += match &document.input {
            Input::Text(text) | Input::Request(text) => text.len(),
        };
        portion.push(document);
    }
    if portion.is_empty() {
        return Ok(true);
    }
    match session.submit(portion).await {
        Err(Error::Submit(SubmitError::Stopped)) => Ok(false),
        submitted => Ok(submitted.map(|()| true)?),
    }
}

/// What waits behind the same limit would only be put off too.
fn is_beyond_patience(event: &Event) -> bool {
    matches!(&event.what, Happening::Outcome(outcome)
        if matches!(&outcome.verdict, Verdict::Postponed(postponement)
            if postponement.reason == PostponeReason::Patience))
}

/// How long to wait for something to happen: often enough for a countdown in seconds and for Ctrl-C.
const MOMENT: Duration = Duration::from_millis(200);
/// With fewer documents waiting, more are submitted; enough for the largest number in flight that anyone will want.
const LOW: u32 = 1_024;
const PORTION: usize = 512;
const PORTION_BYTES: usize = 4 * 1024 * 1024;
