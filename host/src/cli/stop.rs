//! What ends a batch early: Ctrl-C, SIGTERM, a deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

/// When to send nothing more, and when to give up what is on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// How often somebody asked.
    asked: Arc<AtomicU8>,
    /// How long requests on the wire may take to end.
    grace: Duration,
    deadline: Option<Instant>,
}

/// Why a batch was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Somebody asked.
    Asked,
    /// The deadline is near.
    Deadline,
    /// One document more might cost too much.
    Budget,
}

impl Stop {
    /// Nobody stops it; for batches that no time passes in.
    pub(crate) fn never() -> Self {
        Self { asked: Arc::default(), grace: Duration::ZERO, deadline: None }
    }

    /// Ctrl-C or SIGTERM asks to stop; a second one, to stop at once.
    pub(crate) fn on_signals(grace: Duration) -> Result<Self> {
        let stop = Self { grace, ..Self::never() };
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

    /// All is over after so long: sending ends a tenth earlier, or the grace if that is less, so that requests can end.
    pub(crate) fn with_deadline(mut self, deadline: Option<Duration>) -> Self {
        self.deadline = deadline.and_then(|span| Instant::now().checked_add(span));
        if let Some(span) = deadline {
            self.grace = self.grace.min(span / 10);
        }
        self
    }

    /// Why nothing more is to be sent now.
    pub(crate) fn reason(&self) -> Option<Reason> {
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() + self.grace >= deadline);
        match self.asked.load(Ordering::Relaxed) {
            0 if is_late => Some(Reason::Deadline),
            0 => None,
            _ => Some(Reason::Asked),
        }
    }

    /// Whether what is on the wire is to be given up, if nothing more was sent since then.
    pub(crate) fn is_over(&self, since: Instant) -> bool {
        self.asked.load(Ordering::Relaxed) > 1 || self.reason().is_some() && since.elapsed() >= self.grace
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
