//! The present, as WASI tells it. (`std`'s clocks panic on this target.)

use becalm_policy::{Epoch, Now, Tick};
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::io::poll::Pollable;

/// Both clocks, now.
pub(crate) fn now() -> Now {
    let wall = wall_clock::now();
    Now {
        tick: Tick::from_ms(monotonic_clock::now() / NANOSECONDS),
        epoch: Epoch::from_ms(
            wall.seconds.saturating_mul(1_000).saturating_add(u64::from(wall.nanoseconds) / 1_000_000),
        ),
    }
}

/// Ready from that instant on.
pub(crate) fn timer(at: Tick) -> Pollable {
    monotonic_clock::subscribe_instant(at.as_ms().saturating_mul(NANOSECONDS))
}

/// In a millisecond.
pub(crate) const NANOSECONDS: u64 = 1_000_000;
