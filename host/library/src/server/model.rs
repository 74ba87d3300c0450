//! What a server is like: how it limits, what it says about it, and how long it takes.

use std::str::FromStr;
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::contract::Rate;

/// What a server is like.
#[derive(Clone, Debug)]
pub struct Model {
    /// How it limits.
    pub limiter: Kind,
    /// What it says on a refusal about when to come back.
    pub hint: HintForm,
    /// Every hint names this wait, whatever is true.
    pub hint_always: Option<Duration>,
    /// Requests per window.
    pub requests: u64,
    /// The window.
    pub window: Duration,
    /// Enforce the same rate per this shorter window: 60 per 60 s become 1 per 1 s.
    pub subwindow: Option<Duration>,
    /// Tokens per window, beside the requests: each request takes those of its prompt, estimated, and its `max_tokens`.
    /// Rolling windows only.
    pub tokens: Option<u64>,
    /// More limits, all enforced beside these. Rolling windows only.
    pub also: Vec<Rate>,
    /// Answers take all tokens that they may.
    pub full_answers: bool,
    /// Tokens that an answer did not take are given back with it.
    pub tokens_settled: bool,
    /// A strict window's hint counts the refused request too, as if it had to wait for its own slot to be free again.
    pub hint_counts_refused: bool,
    /// How long a request is on its way before it counts.
    pub delay: Spread,
    /// How long an answer takes; refusals come at once.
    pub latency: Spread,
    /// Requests per window that other clients of the same key send, evenly.
    pub others: u64,
    /// What `delay` and `latency` draw from.
    pub seed: u64,
    /// Whether every answer carries `x-ratelimit-*`.
    pub limit_headers: bool,
    /// Whether every arrival is remembered, see [`timeline`](super::Server::timeline).
    pub keeps_timeline: bool,
}

/// How a server limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request is admitted if fewer than `requests` were admitted in the window before it.
    Rolling,
    /// The same, and refused requests count too.
    RollingStrict,
    /// Full at the start, refilled evenly.
    TokenBucket,
    /// Windows that follow each other by the clock.
    FixedWindow,
    /// So many requests at one time; the window means nothing.
    Concurrency,
    /// No limit.
    None,
}

/// How a refusal says when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintForm {
    /// `Retry-After` in whole seconds, rounded up.
    Seconds,
    /// `Retry-After` as HTTP-date, rounded up to the second, with the server's `Date` beside.
    Date,
    /// `retry-after-ms`.
    Milliseconds,
    /// Not at all.
    None,
}

/// The kinds of limiter, by name.
pub const KINDS: [(&str, Kind); 6] = [
    ("rolling", Kind::Rolling),
    ("rolling-strict", Kind::RollingStrict),
    ("token-bucket", Kind::TokenBucket),
    ("fixed-window", Kind::FixedWindow),
    ("concurrency", Kind::Concurrency),
    ("none", Kind::None),
];

/// The forms of hint, by name.
pub const HINTS: [(&str, HintForm); 4] = [
    ("seconds", HintForm::Seconds),
    ("date", HintForm::Date),
    ("ms", HintForm::Milliseconds),
    ("none", HintForm::None),
];

/// A span of time that is drawn anew each time, evenly, ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The shortest.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
}

impl Spread {
    /// Always the same.
    pub const fn exactly(span: Duration) -> Self {
        Self { least: span, most: span }
    }

    /// From the one to the other.
    pub const fn between(least: Duration, most: Duration) -> Self {
        Self { least, most }
    }

    /// The n-th draw; what was drawn before has no influence on it, so that two runs can be compared.
    pub(super) fn draw(self, seed: u64, n: u64) -> Duration {
        if self.least >= self.most {
            return self.least;
        }
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Duration::from_millis(random.random_range(ms(self.least)..=ms(self.most)))
    }
}

impl Default for Model {
    /// The provider of the reference job: 10 requests in a rolling minute.
    fn default() -> Self {
        Self {
            limiter: Kind::Rolling,
            hint: HintForm::Seconds,
            hint_always: None,
            requests: 10,
            window: Duration::from_secs(60),
            subwindow: None,
            tokens: None,
            also: vec![],
            full_answers: false,
            tokens_settled: false,
            hint_counts_refused: false,
            delay: Spread::default(),
            latency: Spread::exactly(Duration::from_secs(1)),
            others: 0,
            seed: 1,
            limit_headers: false,
            keeps_timeline: false,
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        by_name(&KINDS, name)
    }
}

impl FromStr for HintForm {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        by_name(&HINTS, name)
    }
}

fn by_name<Value: Copy>(values: &[(&str, Value)], name: &str) -> Result<Value, String> {
    let found = values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| format!("one of {}", values.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")))
}
