//! What a server admits. Exact, and without chance: time comes in as an argument, in milliseconds, and never goes back.

mod both;
mod bucket;
mod counter;
mod decision;
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

pub(crate) use self::decision::{Budget, Limiter, ROUNDING};
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
