//! The best possible time for a batch.

use std::time::Duration;

use crate::contract::{Rate, Unit};

/// The least time in which `count` requests can be answered, each of which takes `latency`, with `in_flight` at a time
/// and never more than a rate in any rolling window:
///
/// T ≥ max(m·W + ⌈(N − R·m)/C⌉·L, ⌈N/C⌉·L) with m = ⌊(N − 1)/R⌋
///
/// Of several rates the strictest counts; rates in tokens are left out.
pub fn bound(count: u64, rates: &[Rate], in_flight: u32, latency: Duration) -> Duration {
    let rounds = |count: u64| times(latency, count.div_ceil(in_flight.max(1).into()));
    let requests = rates.iter().filter(|rate| rate.unit == Unit::Requests && rate.amount > 0);
    let limited = requests.map(|rate| {
        let windows = count.saturating_sub(1) / rate.amount;
        times(Duration::from_millis(rate.window), windows) + rounds(count - rate.amount * windows)
    });
    limited.max().unwrap_or_default().max(rounds(count))
}

fn times(span: Duration, count: u64) -> Duration {
    span.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_job_takes_four_windows_and_four_rounds() {
        let rate = Rate { unit: Unit::Requests, amount: 10, window: 60_000 };
        assert_eq!(bound(50, &[rate], 3, Duration::from_secs(1)), Duration::from_secs(244));
    }

    #[test]
    fn without_a_limit_the_rounds_count() {
        assert_eq!(bound(50, &[], 8, Duration::from_secs(1)), Duration::from_secs(7));
        assert_eq!(bound(0, &[], 8, Duration::from_secs(1)), Duration::ZERO);
    }
}
