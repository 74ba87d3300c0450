//! Feeds a session and pulls from it: documents are read as there is room for them, so a batch need not fit into memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use becalm::documents::InputError;
use becalm::{Document, Error, Event, Happening, Input, PostponeReason, Session, Status, SubmitError, Verdict};

/// Hears what happens.
pub(crate) trait Watcher {
    /// These are submitted now.
    fn submitting(&mut self, _documents: &[Document]) {}

    /// Something happened. An error breaks the batch off.
    fn event(&mut self, event: &Event) -> Result<()>;

    /// A moment has passed. An error breaks the batch off.
    fn tick(&mut self, status: &Status) -> Result<()>;
}

/// Whether someone wants it to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    asked: Arc<AtomicU8>,
    /// How long requests on the wire may take to end.
    grace: Duration,
}

impl Stop {
    /// Ctrl-C or SIGTERM asks to stop; a second one, to stop at once.
    pub(crate) fn on_signals(grace: Duration) -> Result<Self> {
        let stop = Self { asked: Arc::default(), grace };
        let asked = Arc::clone(&stop.asked);
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            loop {
                signals.next().await;
                if asked.fetch_add(1, Ordering::Relaxed) == 0 {
                    let seconds = grace.as_secs();
                    eprintln!(
                        "stopping: requests on the wire have {seconds} s to end, nothing more is sent (again: stop at once)"
                    );
                }
            }
        });
        Ok(stop)
    }

    /// Whether it was asked.
    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 0
    }

    /// Whether it was asked twice.
    fn is_urgent(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 1
    }
}

/// Ctrl-C, and where there is such a thing, SIGTERM.
struct Signals {
    #[cfg(unix)]
    terminated: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminated: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
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
    let mut is_open = true;
    let mut stopped_at = None;
    let mut unreadable = None;
    loop {
        if stop.is_asked() && stopped_at.is_none() {
            session.stop().await?;
            (is_open, stopped_at) = (false, Some(Instant::now()));
        }
        let is_over = stop.is_urgent() || stopped_at.is_some_and(|at| at.elapsed() >= stop.grace);
        if is_over && stop.is_asked() {
            // What is on the wire is given up with the session.
            return unreadable.map_or(Ok(()), Err);
        }
        let status = session.status().await?;
        if is_open && status.queued < LOW {
            match feed(session, &mut documents, watcher).await {
                Ok(takes_more) => is_open = takes_more,
                // What is on the wire is paid for: it comes home before the error is told.
                Err(error) => {
                    session.stop().await?;
                    (is_open, stopped_at, unreadable) = (false, Some(Instant::now()), Some(error));
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
        watcher.tick(&session.status().await?)?;
    }
}

/// Submits the next documents. Says whether the session takes more.
async fn feed(
    session: &mut Session,
    documents: &mut impl Iterator<Item = Result<Document, InputError>>,
    watcher: &mut impl Watcher,
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
    watcher.submitting(&portion);
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
