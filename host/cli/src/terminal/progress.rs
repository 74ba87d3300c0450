//! What a person sees while a batch runs: a bar with rate, time left and the reason of a wait, or a line now and then where
//! there is no terminal.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use becalm::outcomes::Spending;
use becalm::{Pause, PauseReason, Status};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use crate::terminal::output::aside;
use crate::terminal::speed::Speed;
use crate::terminal::words::{count_in_words, in_whole_seconds, local_time, money, rate_in_words};

/// Shows how far a batch has come.
pub(crate) struct Progress {
    bar: ProgressBar,
    speed: Speed,
    is_plain: bool,
    said_at: Instant,
}

impl Progress {
    /// For so many documents, of which some are done already.
    pub(crate) fn new(count: u64, done: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}\n{prefix}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_position(done);
        Self { bar, speed: Speed::default(), is_plain: !stderr().is_terminal(), said_at: Instant::now() }
    }

    /// Lines now and then, even on a terminal: other lines come between.
    pub(crate) fn plain(count: u64, done: u64) -> Self {
        let bar = ProgressBar::hidden();
        bar.set_length(count);
        bar.set_position(done);
        Self { is_plain: true, bar, ..Self::hidden() }
    }

    /// Nothing is shown.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), speed: Speed::default(), is_plain: false, said_at: Instant::now() }
    }

    /// A line above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| aside(line));
    }

    /// A document has come to its end.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Where it stands now.
    pub(crate) fn show(&mut self, status: &Status, spending: &Spending) {
        let (done, count) = (self.bar.position(), self.bar.length().unwrap_or(0));
        self.speed.note(Instant::now(), done);
        let unfinished = count.saturating_sub(done);
        let wait = status.paused.as_ref().map(still).unwrap_or_default();
        let left = self.speed.left(unfinished, &status.limits, wait);
        let left = left.map(|left| format!("{} left", in_whole_seconds(left)));
        let counts = counts(status, unfinished).join(", ");
        let pace = self.speed.in_words().into_iter().chain(left).chain(spent(spending)).collect::<Vec<_>>().join(", ");
        // The reason of a wait has a line of its own: it is what people look for.
        let below = [Some(pace).filter(|pace| !pace.is_empty()), status.paused.as_ref().and_then(waiting)];
        let below = below.into_iter().flatten().collect::<Vec<_>>();
        if self.is_plain && self.said_at.elapsed() >= PLAIN_EVERY {
            self.said_at = Instant::now();
            aside(format_args!("{done}/{count}  {}", [vec![counts.clone()], below.clone()].concat().join("; ")));
        }
        self.bar.set_message(counts);
        self.bar.set_prefix(below.join("\n"));
    }

    /// The bar goes away; what was said above it stays.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How many are where; those that are not in flight wait.
fn counts(status: &Status, unfinished: u64) -> Vec<String> {
    let in_flight = u64::from(status.in_flight);
    let mut parts = vec![format!("{} answered", status.answered)];
    for (count, name) in [
        (status.failed, "failed"),
        (status.postponed, "postponed"),
        (in_flight, "in flight"),
        (unfinished.saturating_sub(in_flight), "waiting"),
        (status.refusals, "refused"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {name}"));
        }
    }
    parts
}

fn spent(spending: &Spending) -> Option<String> {
    let tokens = spending.spent();
    let count = (tokens.input + tokens.output) as u64;
    let cost = spending.cost().map(|cost| format!(", cost {}", money(cost))).unwrap_or_default();
    (count > 0).then(|| format!("{} tokens{cost}", count_in_words(count)))
}

/// What is waited for, and until when. Pauses shorter than a second are not worth reading.
fn waiting(pause: &Pause) -> Option<String> {
    let left = Some(still(pause)).filter(|left| left.as_secs() > 0)?;
    let clock = local_time(pause.until, "%H:%M:%S")?;
    Some(format!("waiting {} until {clock}: {}", in_whole_seconds(left), reason(pause)))
}

/// How long a pause is still.
fn still(pause: &Pause) -> Duration {
    let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    Duration::from_millis(pause.until.saturating_sub(now))
}

/// Why nothing is sent.
pub(crate) fn reason(pause: &Pause) -> String {
    match (pause.reason, &pause.limit) {
        (_, Some(rate)) => format!("limit of {}", rate_in_words(rate)),
        (PauseReason::Pace, None) => "pace".into(),
        (PauseReason::BackOff, None) => "back-off after a fault".into(),
        (PauseReason::Refused | PauseReason::Limit, None) => "the endpoint asked to wait".into(),
    }
}

/// Often enough to see that it lives, rarely enough for a log.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
