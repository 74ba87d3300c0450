//! The two clocks that the component sees.

use std::time::Duration;

use tokio::time::Instant;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// Which time a component lives in.
#[derive(Clone, Copy, Debug, Default)]
pub enum Clock {
    /// The machine's.
    #[default]
    Real,
    /// tokio's, so that it stands still and jumps where tokio's clock is paused: hours of waiting pass in milliseconds,
    /// and runs with one seed are identical. The wall clock begins at this time since 1970.
    Virtual(Duration),
}

impl Clock {
    pub(crate) fn install(self, wasi: &mut WasiCtxBuilder) {
        if let Self::Virtual(epoch) = self {
            let clock = Tokio { epoch, start: Instant::now() };
            wasi.monotonic_clock(clock).wall_clock(clock);
        }
    }
}

/// tokio's clock, counted from when the component was opened.
#[derive(Clone, Copy)]
struct Tokio {
    epoch: Duration,
    start: Instant,
}

impl HostMonotonicClock for Tokio {
    fn resolution(&self) -> u64 {
        // tokio's timers have this resolution.
        1_000_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl HostWallClock for Tokio {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.epoch + self.start.elapsed()
    }
}
