//! What a person sees while a batch runs: a bar with a countdown, or a line now and then where there is no terminal.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use becalm::{Pause, PauseReason, Status};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use super::values::{in_words, local_time, rate_in_words};

/// Shows how far a batch has come.
pub(crate) struct Progress {
    bar: ProgressBar,
    is_plain: bool,
    said_at: Instant,
}

impl Progress {
    /// For so many documents, of which some are done already.
    pub(crate) fn new(count: u64, done: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_position(done);
        Self { bar, is_plain: !stderr().is_terminal(), said_at: Instant::now() }
    }

    /// Nothing is shown.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), is_plain: false, said_at: Instant::now() }
    }

    /// A line above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    /// A document has come to its end.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Where it stands now.
    pub(crate) fn show(&mut self, status: &Status) {
        let line = state(status);
        if self.is_plain && self.said_at.elapsed() >= PLAIN_EVERY {
            self.said_at = Instant::now();
            eprintln!("{}/{}  {line}", self.bar.position(), self.bar.length().unwrap_or(0));
        }
        self.bar.set_message(line);
    }

    /// The bar goes away; what was said above it stays.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn state(status: &Status) -> String {
    let mut parts = vec![format!("{} in flight", status.in_flight)];
    for (count, name) in [(status.failed, "failed"), (status.postponed, "postponed"), (status.refusals, "refused")] {
        if count > 0 {
            parts.push(format!("{count} {name}"));
        }
    }
    parts.extend(status.paused.as_ref().and_then(waiting));
    parts.join(", ")
}

/// What is waited for, and until when. Pauses shorter than a second are not worth reading.
fn waiting(pause: &Pause) -> Option<String> {
    let until = Timestamp::from_millisecond(i64::try_from(pause.until).ok()?).ok()?;
    let left = Duration::try_from(until.duration_since(Timestamp::now())).ok().filter(|left| left.as_secs() > 0)?;
    let reason = match (pause.reason, &pause.limit) {
        (_, Some(rate)) => format!("limit of {}", rate_in_words(rate)),
        (PauseReason::Pace, None) => "pace".into(),
        (PauseReason::BackOff, None) => "back-off after a fault".into(),
        (PauseReason::Refused | PauseReason::Limit, None) => "the endpoint asked to wait".into(),
    };
    let clock = local_time(pause.until, "%H:%M:%S")?;
    Some(format!("waiting {} until {clock}: {reason}", in_words(Duration::from_secs(left.as_secs()))))
}

/// Often enough to see that it lives, rarely enough for a log.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
