//! The server: what a request gets that arrives now. It has no clock and no wire, so that any client can be put before it.

use becalm_policy::Reply;

use crate::admission::Admission;
use crate::draws::{Draws, Purpose};
use crate::rendering::{self, Fields};
use crate::schedule::Schedule;
use crate::world::{Document, Kind, Stray, World};

/// Answers requests. Call [`arrive`](Self::arrive) for each when it comes, in the order of time, and
/// [`leave`](Self::leave) when one that got a 200 has been served.
#[derive(Debug)]
pub struct Server {
    world: World,
    admission: Admission,
    received: u64,
    in_service: u32,
}

impl Server {
    /// A server that nobody has used.
    pub fn new(world: &World, schedule: &Schedule) -> Self {
        let admission = Admission::new(world, schedule);
        Self { world: world.clone(), admission, received: 0, in_service: 0 }
    }

    /// What this request gets; a 200 takes its time, everything else comes at once.
    pub fn arrive(&mut self, now_ms: u64, document: Document) -> Reply {
        self.admission.advance(now_ms);
        self.received += 1;
        if self.admission.outage_until(now_ms).is_some() {
            return rendering::error(502, BAD_GATEWAY, vec![]);
        }
        if document.is_poison {
            return rendering::error(429, RATE_LIMITED, self.hint(1.0 / self.world.rate(), now_ms));
        }
        if let Some(reply) = self.disturbed() {
            return reply;
        }
        if self.world.cap.is_some_and(|cap| self.in_service >= cap) {
            return rendering::error(429, TOO_MANY, vec![]);
        }
        self.decide(now_ms, document.tokens)
    }

    /// A request that got a 200 has been served.
    pub const fn leave(&mut self) {
        self.in_service -= 1;
    }

    /// What it admits when.
    pub(crate) const fn admission(&mut self) -> &mut Admission {
        &mut self.admission
    }

    /// From now on no request fails or is refused for no reason of its own.
    pub(crate) const fn calm(&mut self) {
        self.world.changes.stray = None;
        self.world.changes.faults = 0.0;
    }

    /// What it gets for no reason of its own.
    fn disturbed(&self) -> Option<Reply> {
        let changes = &self.world.changes;
        let fields = |hint_s: Option<u64>| hint_s.map(|s| rendering::retry_after(s as f64)).into_iter().collect();
        if let Some(Stray { hint_s, .. }) = changes.stray.filter(|stray| stray.number == self.received) {
            return Some(rendering::error(429, RATE_LIMITED, fields(hint_s)));
        }
        let fails = changes.faults > 0.0
            && Draws::numbered(self.world.seed, Purpose::Faults, self.received).happens(changes.faults);
        fails.then(|| rendering::error(503, UNAVAILABLE, fields(changes.fault_hint_s)))
    }

    fn decide(&mut self, now_ms: u64, tokens: u64) -> Reply {
        let Some(mut wait) = self.admission.wait(now_ms, tokens) else {
            self.admission.admit(now_ms, tokens);
            self.in_service += 1;
            return rendering::completion(tokens, self.budget(now_ms));
        };
        self.admission.refuse(now_ms, tokens);
        if self.world.kind == Kind::RollingCountsSelf {
            wait = self.admission.wait(now_ms, tokens).unwrap_or(wait);
        }
        let mut fields = self.hint(wait, now_ms);
        fields.extend(self.budget(now_ms));
        rendering::error(429, RATE_LIMITED, fields)
    }

    fn hint(&self, wait_ms: f64, now_ms: u64) -> Fields {
        rendering::hint(self.world.hint, wait_ms, self.world.started_at_epoch_ms() + now_ms)
    }

    fn budget(&mut self, now_ms: u64) -> Fields {
        let Some(style) = self.world.headers else { return vec![] };
        self.admission.budget(now_ms).map_or_else(Vec::new, |budget| rendering::budget(style, &budget))
    }
}

const RATE_LIMITED: &str =
    r#"{"error":{"message":"Rate limit exceeded","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#;
/// Nothing in it says that it is about requests at one time.
const TOO_MANY: &str = r#"{"error":{"message":"Too many requests"}}"#;
const UNAVAILABLE: &str = r#"{"error":{"message":"Service unavailable"}}"#;
const BAD_GATEWAY: &str = "<html><head><title>502 Bad Gateway</title></head></html>";
