//! How long a refusal takes to come back: a request that was not refused by then was admitted, however long its answer
//! takes. Smoothed as in RFC 6298.

use crate::time::Delay;

#[derive(Debug)]
pub(super) struct RoundTrip {
    smoothed: Delay,
    deviation: Delay,
    is_measured: bool,
}

impl RoundTrip {
    pub(super) const fn new() -> Self {
        Self { smoothed: Delay::from_ms(60), deviation: Delay::from_ms(20), is_measured: false }
    }

    /// A refusal came back after so long. One that is far too long says more of the endpoint than of the network.
    pub(super) fn measured(&mut self, time: Delay) {
        let time = time.min(LONGEST).min(self.smoothed.times(4) + Delay::from_ms(300));
        if !core::mem::replace(&mut self.is_measured, true) {
            (self.smoothed, self.deviation) = (time, time.divided_by(2));
        }
        let apart = Delay::from_ms(time.as_ms().abs_diff(self.smoothed.as_ms()));
        self.deviation = (self.deviation.times(3) + apart).divided_by(4);
        self.smoothed = (self.smoothed.times(4) + time).divided_by(5);
    }

    /// After so long without a refusal there is none.
    pub(super) fn silence(&self) -> Delay {
        CLOCK + self.smoothed + self.deviation.times(3)
    }
}

/// What clocks and schedulers may add.
const CLOCK: Delay = Delay::from_ms(20);
const LONGEST: Delay = Delay::from_secs(3);
