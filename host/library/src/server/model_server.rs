//! A server at work: it takes requests, decides by its limiter, and answers after its latency.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use tokio::time::{Instant, sleep};

use super::limiter::{Decision, Limiter};
use super::model::{Kind, Model, Spread};
use super::reply;
use super::stats::{Arrival, Stats};

/// A server at work.
#[derive(Debug)]
pub struct Server {
    model: Model,
    started: Instant,
    /// The wall clock at the start, without its fraction: so the rounding of dates does not depend on it.
    started_epoch: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limiter: Limiter,
    /// Requests of others so far.
    others: u64,
    /// When the latest of them was sent.
    others_until: u64,
    stats: Stats,
    timeline: Vec<Arrival>,
}

impl Server {
    /// A server whose time begins now.
    pub fn new(model: Model) -> Self {
        let state = State {
            limiter: Limiter::new(&model),
            others: 0,
            others_until: 0,
            stats: Stats::default(),
            timeline: vec![],
        };
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_epoch = Duration::from_secs(epoch.as_secs());
        Self { model, started: Instant::now(), started_epoch, state: Mutex::new(state) }
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
    pub(super) fn connected(&self) {
        self.state().stats.connections += 1;
    }

    async fn complete(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let wanted = match reply::Wanted::read(request, self.model.full_answers) {
            Ok(wanted) => wanted,
            Err(refusal) => return *refusal,
        };
        let number = self.sent();
        sleep(self.model.delay.draw(self.model.seed, number)).await;
        if let Some(refusal) = self.model.tokens.and_then(|most| wanted.oversize(most)) {
            return refusal;
        }
        // Another stream of draws than the delay's.
        let latency = self.model.latency.draw(!self.model.seed, number);
        let (decision, place) = self.arrive(wanted.tokens(), latency);
        let now = self.started_epoch + self.started.elapsed();
        let mut response = match decision.hint {
            Some(wait) if self.model.limiter == Kind::Concurrency => reply::crowded(self.model.hint, wait, now),
            Some(wait) => reply::refused(self.model.hint, self.model.hint_always.unwrap_or(wait), now),
            None => {
                sleep(latency).await;
                if let Some(Place { arrived_ms, .. }) = place.filter(|_| self.model.tokens_settled) {
                    self.state().limiter.settle(arrived_ms, wanted.tokens(), wanted.taken());
                }
                wanted.answer()
            }
        };
        if self.model.limit_headers && self.model.limiter != Kind::None {
            reply::state_budgets(response.headers_mut(), self.model.requests, &decision);
        }
        response
    }

    /// A request is on its way; it is the one of that number.
    fn sent(&self) -> u64 {
        let stats = &mut self.state().stats;
        stats.sent += 1;
        stats.sent
    }

    /// Decides whether a request that arrives now is admitted; then it has a place.
    fn arrive(&self, tokens: u64, latency: Duration) -> (Decision, Option<Place<'_>>) {
        let mut state = self.state();
        // Read under the lock: for the limiter, time must not go back from one request to the next.
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.let_others_in(&mut state, now);
        let in_flight = state.stats.in_flight + self.others_in_flight();
        let decision = state.limiter.arrive(now, tokens, in_flight);
        state.stats.received += 1;
        if decision.hint.is_some() {
            state.stats.refused += 1;
        } else {
            state.stats.tokens += tokens;
            state.stats.in_flight += 1;
            state.stats.max_in_flight = state.stats.max_in_flight.max(state.stats.in_flight);
        }
        if self.model.keeps_timeline {
            let latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
            state.timeline.push(Arrival { at_ms: now, admitted: decision.hint.is_none(), latency_ms });
        }
        drop(state);
        (decision, decision.hint.is_none().then(|| Place { server: self, arrived_ms: now }))
    }

    /// What other clients sent since the last request: each at some time in its share of the window, and where there is no
    /// room, as soon as there is.
    fn let_others_in(&self, state: &mut State, now_ms: u64) {
        if self.model.others == 0 || self.model.limiter == Kind::Concurrency {
            return;
        }
        let window = u64::try_from(self.model.window.as_millis()).unwrap_or(u64::MAX);
        let tokens = self.model.tokens.unwrap_or(0) / self.model.requests.max(1);
        let share =
            Spread::between(Duration::ZERO, self.model.window / self.model.others.try_into().unwrap_or(u32::MAX));
        let due = |n: u64| {
            let within = share.draw(self.model.seed.rotate_left(32), n).as_millis() as u64;
            n.saturating_mul(window) / self.model.others + within
        };
        while due(state.others) <= now_ms {
            let at = due(state.others).max(state.others_until);
            let Some(at) = state.limiter.has_room_at(at, tokens).filter(|at| *at <= now_ms) else { return };
            state.limiter.arrive(at, tokens, 0);
            (state.others, state.others_until) = (state.others + 1, at);
        }
    }

    /// Where places are limited, others hold some all the time.
    fn others_in_flight(&self) -> u64 {
        if self.model.limiter == Kind::Concurrency { self.model.others } else { 0 }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered; it gives its place back when it is dropped, answered or aborted.
struct Place<'a> {
    server: &'a Server,
    arrived_ms: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let stats = &mut self.server.state().stats;
        stats.in_flight -= 1;
        stats.answered += 1;
    }
}
