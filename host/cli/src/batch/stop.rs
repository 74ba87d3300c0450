//! What ends a batch early: Ctrl-C, SIGTERM, a deadline.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

use crate::terminal::output::aside;
use crate::terminal::words::in_whole_seconds;

/// When to send nothing more, and when to give up what is on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    signals: Arc<Signalled>,
    /// How long requests on the wire may take to end after somebody asked.
    grace: Duration,
    deadline: Option<Deadline>,
}

#[derive(Debug, Default)]
struct Signalled {
    times: AtomicU8,
    since: OnceLock<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    /// Nothing is sent from then on.
    last_sent: Instant,
    /// Nothing is waited for from then on.
    over: Instant,
}

/// Why a batch was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// By Ctrl-C or SIGTERM.
    Interrupted,
    /// The deadline is near.
    Deadline,
    /// One document more might cost too much.
    Budget,
}

impl Stop {
    /// Nobody stops it; for batches that no time passes in.
    pub(crate) fn never() -> Self {
        Self { signals: Arc::default(), grace: Duration::ZERO, deadline: None }
    }

    /// Ctrl-C or SIGTERM asks to stop; a second one, to stop at once.
    pub(crate) fn on_signals(grace: Duration) -> Result<Self> {
        let stop = Self { grace, ..Self::never() };
        let signalled = Arc::clone(&stop.signals);
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            loop {
                signals.next().await;
                signalled.since.get_or_init(Instant::now);
                if signalled.times.fetch_add(1, Ordering::Relaxed) == 0 {
                    aside(format_args!(
                        "stopping: requests on the wire have {} to end, nothing more is sent (again: stop at once)",
                        in_whole_seconds(grace)
                    ));
                }
            }
        });
        Ok(stop)
    }

    /// All is over after so long: sending ends a tenth earlier, or half a minute if that is less, so that requests can end.
    pub(crate) fn with_deadline(self, span: Option<Duration>) -> Self {
        let now = Instant::now();
        let deadline = span.and_then(|span| {
            let margin = MOST_MARGIN.min(span / 10);
            Some(Deadline { last_sent: now.checked_add(span - margin)?, over: now.checked_add(span)? })
        });
        Self { deadline, ..self }
    }

    /// Why nothing more is to be sent now.
    pub(crate) fn reason(&self) -> Option<Reason> {
        if self.signals.since.get().is_some() {
            return Some(Reason::Interrupted);
        }
        let is_near = self.deadline.is_some_and(|deadline| Instant::now() >= deadline.last_sent);
        is_near.then_some(Reason::Deadline)
    }

    /// Whether what is on the wire is to be given up.
    pub(crate) fn is_over(&self) -> bool {
        let is_urgent = self.signals.times.load(Ordering::Relaxed) > 1;
        let is_due = self.signals.since.get().is_some_and(|since| since.elapsed() >= self.grace);
        is_urgent || is_due || self.deadline.is_some_and(|deadline| Instant::now() >= deadline.over)
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

const MOST_MARGIN: Duration = Duration::from_secs(30);
