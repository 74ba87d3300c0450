//! What is replayed: so many requests per window.

use crate::settings::{Rate, Unit};
use crate::time::Delay;

/// What is replayed: so many requests per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rhythm {
    pub(super) amount: u64,
    pub(super) window: Delay,
    /// A window of so much was refused.
    pub(super) refuted: Delay,
    /// Whether a hint or a usual window speaks for it.
    pub(super) is_sure: bool,
}

impl Rhythm {
    /// The same rate with another amount.
    pub(super) fn with_amount(self, amount: u64) -> Self {
        let scaled = |span: Delay| Delay::from_ms(scaled(span.as_ms(), amount, self.amount).max(1));
        Self { amount, window: scaled(self.window), refuted: scaled(self.refuted), ..self }
    }

    /// The pace that it comes to.
    pub(super) const fn rate(self) -> Rate {
        Rate { unit: Unit::Requests, amount: self.amount, window: self.window }
    }

    /// The time of one request.
    pub(super) const fn slot(self) -> Delay {
        self.window.divided_by(self.amount)
    }

    /// Whether what was refuted is so near to the window that a trial between them would show nothing.
    pub(super) fn is_found(self) -> bool {
        let near = self.window.divided_by(16);
        self.window - self.refuted <= near + near.min(Delay::from_ms(10))
    }
}

/// Whether so many in such a time are more per time than the other.
pub(super) fn is_faster((amount, window): (u64, Delay), (other, span): (u64, Delay)) -> bool {
    u128::from(amount) * u128::from(span.as_ms()) > u128::from(other) * u128::from(window.as_ms())
}

/// `value · part / whole`, rounded up.
pub(super) fn scaled(value: u64, part: u64, whole: u64) -> u64 {
    let scaled = (u128::from(value) * u128::from(part)).div_ceil(u128::from(whole.max(1)));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
