//! What is admitted when: a limiter, with others who use it, a change of the limit and an outage. The server asks whether it
//! admits, the clairvoyant when it will.

use crate::draws::{Draws, Purpose};
use crate::limiter::{self, Budget, Limiter, ROUNDING};
use crate::schedule::{OUTAGE_MS, Schedule};
use crate::world::World;

#[derive(Debug)]
pub(crate) struct Admission {
    limiter: Box<dyn Limiter>,
    strangers: Option<Strangers>,
    /// The limit's change that is still to come, and its factor.
    change: Option<(u64, f64)>,
    outage_at_ms: Option<u64>,
}

/// Others who use the same limit, at instants of chance.
#[derive(Debug)]
struct Strangers {
    draws: Draws,
    mean_gap: f64,
    next_at: f64,
}

impl Admission {
    pub(crate) fn new(world: &World, schedule: &Schedule) -> Self {
        Self {
            limiter: limiter::of(world),
            strangers: world.changes.strangers.then(|| Strangers::new(world)),
            change: schedule.change_at_ms.zip(world.changes.factor),
            outage_at_ms: schedule.outage_at_ms,
        }
    }

    /// Lets all happen that happens by itself until then.
    pub(crate) fn advance(&mut self, now_ms: u64) {
        if let Some((_, factor)) = self.change.take_if(|(at, _)| *at <= now_ms) {
            self.limiter.scale(factor);
        }
        let Some(strangers) = &mut self.strangers else { return };
        while strangers.next_at <= now_ms as f64 {
            let at = strangers.pass();
            if self.limiter.opens_at(at, 1) <= at {
                self.limiter.admit(at, 1);
            } else {
                self.limiter.refuse(at, 1);
            }
        }
    }

    /// The end of the outage that there is now.
    pub(crate) fn outage_until(&self, now_ms: u64) -> Option<u64> {
        let at = self.outage_at_ms?;
        (at..at + OUTAGE_MS).contains(&now_ms).then_some(at + OUTAGE_MS)
    }

    /// How long a request would have to wait; absent: it need not.
    pub(crate) fn wait(&mut self, now_ms: u64, tokens: u64) -> Option<f64> {
        let wait = self.limiter.opens_at(now_ms as f64, tokens) - now_ms as f64;
        (wait > ROUNDING).then_some(wait)
    }

    /// Whether a request would be refused that arrives then.
    pub(crate) fn is_closed(&mut self, now_ms: u64, tokens: u64) -> bool {
        self.advance(now_ms);
        self.wait(now_ms, tokens).is_some()
    }

    /// When the limit rises, if that is before a request that waits from now on would be admitted; else now.
    pub(crate) fn after_rise(&mut self, now_ms: u64, tokens: u64) -> u64 {
        self.advance(now_ms);
        let opens = now_ms as f64 + self.wait(now_ms, tokens).unwrap_or(0.0);
        let rise = self.change.filter(|(at, factor)| *factor > 1.0 && (*at as f64) < opens);
        rise.map_or(now_ms, |(at, _)| at)
    }

    pub(crate) fn admit(&mut self, now_ms: u64, tokens: u64) {
        self.limiter.admit(now_ms as f64, tokens);
    }

    pub(crate) fn refuse(&mut self, now_ms: u64, tokens: u64) {
        self.limiter.refuse(now_ms as f64, tokens);
    }

    pub(crate) fn budget(&mut self, now_ms: u64) -> Option<Budget> {
        self.limiter.budget(now_ms as f64)
    }

    /// The first whole millisecond from then on at which it admits.
    pub(crate) fn earliest(&mut self, from_ms: u64, tokens: u64) -> u64 {
        let mut now_ms = from_ms;
        loop {
            self.advance(now_ms);
            if let Some(end) = self.outage_until(now_ms) {
                now_ms = end;
                continue;
            }
            let Some(wait) = self.wait(now_ms, tokens) else { return now_ms };
            let opens = now_ms as f64 + wait - ROUNDING;
            let stranger = self.strangers.as_ref().map_or(f64::INFINITY, |strangers| strangers.next_at);
            let change = self.change.map_or(f64::INFINITY, |(at, _)| at as f64);
            now_ms = (opens.min(stranger).min(change).ceil() as u64).max(now_ms + 1);
        }
    }
}

impl Strangers {
    fn new(world: &World) -> Self {
        let mut strangers =
            Self { draws: Draws::of(world.seed, Purpose::Strangers), mean_gap: 3.0 / world.rate(), next_at: 0.0 };
        strangers.pass();
        strangers
    }

    /// When the next one comes; then it is the turn of the one after it.
    fn pass(&mut self) -> f64 {
        let at = self.next_at;
        self.next_at += self.draws.exponential(self.mean_gap);
        at
    }
}
