//! Servers with a rate limit, modelled once: for `becalm mock-server` and `becalm demo` over TCP, and in process for
//! tests and forecasts in virtual time. All time in here is tokio's, so it can be paused.

mod in_process;
mod limiter;
mod listen;
mod reply;
mod stats;

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use tokio::time::{Instant, sleep};

pub use self::in_process::InProcess;
use self::limiter::{Decision, Limiter};
pub use self::listen::Listening;
pub use self::stats::{Arrival, Stats};

/// What a server is like.
#[derive(Clone, Debug)]
pub struct Model {
    /// How it limits.
    pub limiter: Kind,
    /// What it says on a refusal about when to come back.
    pub hint: HintForm,
    /// Requests per window.
    pub requests: u64,
    /// The window.
    pub window: Duration,
    /// Enforce the same rate per this shorter window: 60 per 60 s become 1 per 1 s.
    pub subwindow: Option<Duration>,
    /// How long an answer takes; refusals come at once.
    pub latency: Duration,
    /// Whether every answer carries `x-ratelimit-*`.
    pub limit_headers: bool,
    /// Whether every arrival is remembered, see [`Server::timeline`].
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

impl Default for Model {
    /// The provider of the reference job: 10 requests in a rolling minute.
    fn default() -> Self {
        Self {
            limiter: Kind::Rolling,
            hint: HintForm::Seconds,
            requests: 10,
            window: Duration::from_secs(60),
            subwindow: None,
            latency: Duration::from_secs(1),
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

/// A server at work.
#[derive(Debug)]
pub struct Server {
    model: Model,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limiter: Limiter,
    stats: Stats,
    timeline: Vec<Arrival>,
}

impl Server {
    /// A server whose time begins now.
    pub fn new(model: Model) -> Self {
        let state = State { limiter: Limiter::new(&model), stats: Stats::default(), timeline: vec![] };
        Self { model, started: Instant::now(), state: Mutex::new(state) }
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        self.state().stats.clone()
    }

    /// Every arrival so far, if the model keeps them.
    pub fn timeline(&self) -> Vec<Arrival> {
        self.state().timeline.clone()
    }

    /// Answers a request in the server's own time.
    pub async fn handle(&self, request: Request<Bytes>) -> Response<Bytes> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, path) if path.ends_with("/stats") => reply::json(StatusCode::OK, &self.stats()),
            (&Method::POST, path) if path.ends_with("/chat/completions") => self.complete(&request).await,
            _ => {
                reply::error(StatusCode::NOT_FOUND, "not_found", "there is only POST …/chat/completions and GET /stats")
            }
        }
    }

    /// A connection was accepted.
    fn connected(&self) {
        self.state().stats.connections += 1;
    }

    async fn complete(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let wanted = match reply::Wanted::read(request) {
            Ok(wanted) => wanted,
            Err(refusal) => return *refusal,
        };
        let (decision, place) = self.arrive();
        let mut response = match decision.hint {
            Some(wait) if self.model.limiter == Kind::Concurrency => reply::crowded(self.model.hint, wait),
            Some(wait) => reply::refused(self.model.hint, wait),
            None => {
                sleep(self.model.latency).await;
                drop(place);
                wanted.answer()
            }
        };
        if self.model.limit_headers && self.model.limiter != Kind::None {
            reply::state_budget(response.headers_mut(), self.model.requests, &decision);
        }
        response
    }

    /// Decides whether a request that arrives now is admitted; then it has a place.
    fn arrive(&self) -> (Decision, Option<Place<'_>>) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut state = self.state();
        let in_flight = state.stats.in_flight;
        let decision = state.limiter.arrive(now, in_flight);
        state.stats.received += 1;
        if decision.hint.is_some() {
            state.stats.refused += 1;
        } else {
            state.stats.in_flight += 1;
            state.stats.max_in_flight = state.stats.max_in_flight.max(state.stats.in_flight);
        }
        if self.model.keeps_timeline {
            state.timeline.push(Arrival { at_ms: now, admitted: decision.hint.is_none() });
        }
        drop(state);
        (decision, decision.hint.is_none().then(|| Place(self)))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered; it gives its place back when it is dropped, answered or aborted.
struct Place<'a>(&'a Server);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let stats = &mut self.0.state().stats;
        stats.in_flight -= 1;
        stats.answered += 1;
    }
}
