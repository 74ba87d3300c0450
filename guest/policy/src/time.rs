//! Instants and spans in whole milliseconds. Where they come from is the caller's business.

use core::ops::{Add, Sub};

/// An instant on a clock that never goes back; its zero has no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

/// A span of time. Nothing here overflows: it saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delay(u64);

/// An instant on the wall clock, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

/// The present, on both clocks: ticks for waiting, the wall clock for dates that a server names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The present on the clock that never goes back.
    pub tick: Tick,
    /// The present on the wall clock.
    pub epoch: Epoch,
}

impl Tick {
    /// The instant so many milliseconds after zero.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds after zero.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; nothing if that is later.
    pub const fn since(self, earlier: Self) -> Delay {
        Delay(self.0.saturating_sub(earlier.0))
    }
}

impl Delay {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// As long as can be said.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of so many milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// A span of so many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000))
    }

    /// Milliseconds in this span.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This span so many times over.
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// The n-th part of this span, rounded down.
    pub const fn divided_by(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl Epoch {
    /// The instant so many milliseconds after 1970 began.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since 1970 began.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; nothing if that is later.
    pub const fn since(self, earlier: Self) -> Delay {
        Delay(self.0.saturating_sub(earlier.0))
    }
}

impl Now {
    /// The wall-clock reading that `tick` will have.
    pub fn epoch_at(self, tick: Tick) -> Epoch {
        self.epoch + tick.since(self.tick)
    }
}

impl Add<Delay> for Tick {
    type Output = Self;

    fn add(self, delay: Delay) -> Self {
        Self(self.0.saturating_add(delay.0))
    }
}

impl Sub<Delay> for Tick {
    type Output = Self;

    fn sub(self, delay: Delay) -> Self {
        Self(self.0.saturating_sub(delay.0))
    }
}

impl Add for Delay {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Delay {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Delay> for Epoch {
    type Output = Self;

    fn add(self, delay: Delay) -> Self {
        Self(self.0.saturating_add(delay.0))
    }
}
