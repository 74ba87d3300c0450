//! What a server admits. Exact, and without chance: time comes in as an argument, in milliseconds, and never goes back.

mod both;
mod bucket;
mod counter;
mod fixed;
mod rolling;
mod unlimited;

use self::both::Both;
use self::bucket::Bucket;
use self::counter::Counter;
use self::fixed::Fixed;
use self::rolling::Rolling;
use self::unlimited::Unlimited;
use crate::world::{Kind, World};

/// Decides whether a request is admitted.
pub(crate) trait Limiter: std::fmt::Debug + Send {
    /// When a request would be admitted, if none came before it; now, if that is now.
    fn opens_at(&mut self, now: f64, tokens: u64) -> f64;

    /// A request was admitted.
    fn admit(&mut self, now: f64, tokens: u64);

    /// A request was refused.
    fn refuse(&mut self, now: f64, tokens: u64);

    /// What limit headers say; absent where there is no limit.
    fn budget(&mut self, now: f64) -> Option<Budget>;

    /// The limit becomes so many times itself.
    fn scale(&mut self, factor: f64);
}

/// The state of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Budget {
    pub(crate) amount: u64,
    pub(crate) remaining: u64,
    /// Until the window ends.
    pub(crate) end_ms: f64,
    /// Until the next request may go.
    pub(crate) slot_ms: f64,
    /// Until nothing is used any more.
    pub(crate) full_ms: f64,
}

/// Instants that are closer than this are one: what rounding does to fractions of a window.
pub(crate) const ROUNDING: f64 = 1e-6;

/// The limiter of a world.
pub(crate) fn of(world: &World) -> Box<dyn Limiter> {
    let amount = world.amount;
    let window = world.window_ms as f64;
    let clock = (world.started_at_epoch_ms() % world.window_ms) as f64;
    match world.kind {
        Kind::Rolling => Box::new(Rolling::requests(amount, window, false)),
        Kind::RollingCounts | Kind::RollingCountsSelf => Box::new(Rolling::requests(amount, window, true)),
        Kind::FixedClock => Box::new(Fixed::clock(amount, window, clock)),
        Kind::FixedFirst => Box::new(Fixed::first(amount, window, false)),
        Kind::FixedFirstCounts => Box::new(Fixed::first(amount, window, true)),
        Kind::Bucket | Kind::Nginx | Kind::Gcra => Box::new(Bucket::new(amount, window, world.burst.unwrap_or(amount))),
        Kind::Counter => Box::new(Counter::new(amount, window, clock, false)),
        Kind::CounterCounts => Box::new(Counter::new(amount, window, clock, true)),
        Kind::Haproxy => Box::new(Counter::new(amount, window, 0.0, true)),
        Kind::Two => {
            let (short, length) = world.short.unwrap_or((amount, world.window_ms));
            Box::new(Both(Rolling::requests(short, length as f64, false), Rolling::requests(amount, window, false)))
        }
        Kind::Tokens => {
            let tokens = world.tokens.map_or(u64::MAX, |tokens| tokens.amount);
            Box::new(Both(Rolling::requests(amount, window, false), Rolling::tokens(tokens, window)))
        }
        Kind::Concurrency | Kind::Unlimited => Box::new(Unlimited),
    }
}
