//! How fast a batch goes now, and how long the rest will take. Time comes in as an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use becalm::{Limit, Unit};

/// What was done when, of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct Speed(VecDeque<(Instant, u64)>);

impl Speed {
    /// So many were done by now.
    pub(crate) fn note(&mut self, now: Instant, done: u64) {
        if self.0.back().is_none_or(|(at, _)| now.duration_since(*at) >= EVERY) {
            self.0.push_back((now, done));
        }
        while self.0.len() > 2 && now.duration_since(self.0[1].0) >= SPAN {
            self.0.pop_front();
        }
    }

    /// Documents in a second; nothing before there is anything to say.
    fn per_second(&self) -> Option<f64> {
        let ((first, from), (last, to)) = (self.0.front()?, self.0.back()?);
        let (taken, done) = (last.duration_since(*first), to.saturating_sub(*from));
        (taken >= EVERY && done > 0).then(|| done as f64 / taken.as_secs_f64())
    }

    /// The rate now.
    pub(crate) fn in_words(&self) -> Option<String> {
        let rate = self.per_second()?;
        Some(if rate >= 1.0 { format!("{rate:.1}/s") } else { format!("{:.1}/min", rate * 60.0) })
    }

    /// How long so many more will take of which none can go before `wait` is over: as the limits let them, else at this
    /// rate.
    pub(crate) fn left(&self, count: u64, limits: &[Limit], wait: Duration) -> Option<Duration> {
        let of_limits =
            limits.iter().filter_map(|limit| limit.admits.rate()).filter(|rate| rate.unit == Unit::Requests);
        let windows = |amount: u64| count.saturating_sub(1) / amount.max(1);
        let limited = of_limits.map(|rate| Duration::from_millis(rate.window * windows(rate.amount))).max();
        // Where a limit is known, the rate of the last minutes may be that of a burst; where the endpoint is slower than its
        // limit, it says more.
        let at_this_rate = || self.per_second().map(|rate| Duration::from_secs_f64(count as f64 / rate));
        let limited = limited.filter(|limited| !limited.is_zero() || !wait.is_zero()).map(|limited| limited + wait);
        limited.into_iter().chain(at_this_rate()).max().filter(|_| count > 0)
    }
}

const EVERY: Duration = Duration::from_secs(1);
/// Longer than the window of most limits, so that a burst and the wait after it are seen together.
const SPAN: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use becalm::{Admits, LimitSource, Rate};

    #[test]
    fn the_rate_is_of_the_last_minutes_and_the_rest_is_reckoned_from_it() {
        let (start, mut speed) = (Instant::now(), Speed::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        speed.note(at(0), 0);
        assert_eq!((speed.in_words(), speed.left(10, &[], Duration::ZERO)), (None, None));
        (1..=60).for_each(|second| speed.note(at(second), 2 * second));
        assert_eq!(speed.in_words(), Some("2.0/s".into()));
        assert_eq!(speed.left(10, &[], Duration::ZERO), Some(Duration::from_secs(5)));
        (61..=300).for_each(|second| speed.note(at(second), 120));
        assert_eq!(speed.in_words(), None, "nothing happened for two minutes");
        assert!(speed.0.len() < 130);
        speed.note(at(301), 130);
        let rate = Rate { unit: Unit::Requests, amount: 3_500, window: 60_000 };
        let limits = [Limit { admits: Admits::Rate(rate), source: LimitSource::Settings, cycles: 0 }];
        let left = speed.left(6_000, &limits, Duration::ZERO).unwrap();
        assert!(left > Duration::from_secs(60_000), "it is slower than its limit: {left:?}");
    }

    #[test]
    fn a_limit_that_is_known_says_more_than_the_rate() {
        let rate = Rate { unit: Unit::Requests, amount: 10, window: 60_000 };
        let limits = [Limit { admits: Admits::Rate(rate), source: LimitSource::Headers, cycles: 0 }];
        let left = |count, wait| Speed::default().left(count, &limits, Duration::from_secs(wait));
        assert_eq!(left(50, 0), Some(Duration::from_secs(240)), "ten go at once");
        assert_eq!(left(40, 50), Some(Duration::from_secs(230)));
        assert_eq!((left(5, 0), left(5, 20)), (None, Some(Duration::from_secs(20))));
    }
}
