//! The limiters, exact to the millisecond. Time comes in as an argument.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Kind, Model};

/// What a limiter says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// Absent: admitted. Else refused, and a slot is free after that.
    pub(super) hint: Option<Duration>,
    /// Slots left after this request.
    pub(super) remaining: u64,
    /// When there will be one more.
    pub(super) reset: Duration,
}

#[derive(Debug)]
pub(super) enum Limiter {
    Rolling { amount: u64, window_ms: u64, refused_count: bool, taken: VecDeque<u64> },
    Fixed { amount: u64, window_ms: u64, window: u64, used: u64 },
    Crowd { amount: u64 },
    Bucket { amount: u64, window_ms: u64, level: u64, at_ms: u64 },
    Unlimited,
}

impl Limiter {
    pub(super) fn new(model: &Model) -> Self {
        let (amount, window_ms) = rate(model);
        let rolling = |refused_count| Self::Rolling { amount, window_ms, refused_count, taken: VecDeque::new() };
        match model.limiter {
            Kind::Rolling => rolling(false),
            Kind::RollingStrict => rolling(true),
            // In requests times milliseconds of the window: whole numbers stay exact.
            Kind::TokenBucket => Self::Bucket { amount, window_ms, level: amount * window_ms, at_ms: 0 },
            Kind::FixedWindow => Self::Fixed { amount, window_ms, window: 0, used: 0 },
            Kind::Concurrency => Self::Crowd { amount },
            Kind::None => Self::Unlimited,
        }
    }

    /// A request arrives while so many are being answered.
    pub(super) fn arrive(&mut self, now_ms: u64, in_flight: u64) -> Decision {
        match self {
            Self::Rolling { amount, window_ms, refused_count, taken } => {
                while taken.front().is_some_and(|at| at + *window_ms <= now_ms) {
                    taken.pop_front();
                }
                rolling(taken, *amount, *window_ms, *refused_count, now_ms)
            }
            Self::Bucket { amount, window_ms, level, at_ms } => {
                let refilled = (now_ms - *at_ms).saturating_mul(*amount);
                *level = level.saturating_add(refilled).min(*amount * *window_ms);
                *at_ms = now_ms;
                bucket(level, *amount, *window_ms)
            }
            Self::Fixed { amount, window_ms, window, used } => {
                let current = now_ms / *window_ms;
                if std::mem::replace(window, current) != current {
                    *used = 0;
                }
                let reset = Duration::from_millis((current + 1) * *window_ms - now_ms);
                let is_admitted = *used < *amount;
                *used += u64::from(is_admitted);
                Decision { hint: (!is_admitted).then_some(reset), remaining: *amount - *used, reset }
            }
            Self::Crowd { amount } => {
                let is_admitted = in_flight < *amount;
                let remaining = amount.saturating_sub(in_flight + 1);
                Decision { hint: (!is_admitted).then_some(Duration::ZERO), remaining, reset: Duration::ZERO }
            }
            Self::Unlimited => Decision { hint: None, remaining: u64::MAX, reset: Duration::ZERO },
        }
    }
}

/// What is enforced: the stated rate, or the same rate per subwindow.
fn rate(model: &Model) -> (u64, u64) {
    let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1);
    let window = ms(model.window);
    match model.subwindow.map(ms) {
        Some(subwindow) => ((model.requests * subwindow / window).max(1), subwindow),
        None => (model.requests, window),
    }
}

fn rolling(taken: &mut VecDeque<u64>, amount: u64, window_ms: u64, refused_count: bool, now_ms: u64) -> Decision {
    let used = taken.len() as u64;
    let is_admitted = used < amount;
    if is_admitted || refused_count {
        taken.push_back(now_ms);
    }
    // With more in the window than the limit allows, so many have to leave until there is room again.
    let excess = usize::try_from(used.saturating_sub(amount)).unwrap_or(usize::MAX);
    let reset = Duration::from_millis(taken.get(excess).map_or(0, |at| at + window_ms - now_ms));
    let remaining = amount.saturating_sub(used + 1);
    Decision { hint: (!is_admitted).then_some(reset), remaining, reset }
}

fn bucket(level: &mut u64, amount: u64, window_ms: u64) -> Decision {
    let is_admitted = *level >= window_ms;
    if is_admitted {
        *level -= window_ms;
    }
    let missing = window_ms - *level % window_ms;
    let reset = Duration::from_millis(missing.div_ceil(amount));
    Decision { hint: (!is_admitted).then_some(reset), remaining: *level / window_ms, reset }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(kind: Kind) -> Limiter {
        Limiter::new(&Model { limiter: kind, requests: 2, ..Model::default() })
    }

    fn hints(limiter: &mut Limiter, arrivals: &[u64]) -> Vec<Option<u64>> {
        arrivals.iter().map(|at| limiter.arrive(*at, 0).hint.map(|hint| hint.as_millis() as u64)).collect()
    }

    #[test]
    fn a_rolling_window_admits_again_when_the_oldest_leaves() {
        let mut limiter = limiter(Kind::Rolling);
        assert_eq!(
            hints(&mut limiter, &[0, 1_000, 2_000, 59_999, 60_000, 60_001]),
            [None, None, Some(58_000), Some(1), None, Some(999)]
        );
    }

    #[test]
    fn a_strict_window_counts_what_it_refuses() {
        let mut limiter = limiter(Kind::RollingStrict);
        assert_eq!(
            hints(&mut limiter, &[0, 1_000, 2_000, 60_000, 61_000]),
            [None, None, Some(58_000), Some(1_000), Some(1_000)]
        );
    }

    #[test]
    fn a_bucket_starts_full_and_refills_evenly() {
        let mut limiter = limiter(Kind::TokenBucket);
        assert_eq!(
            hints(&mut limiter, &[0, 0, 0, 29_999, 30_000, 60_000]),
            [None, None, Some(30_000), Some(1), None, None]
        );
    }

    #[test]
    fn a_fixed_window_begins_anew_by_the_clock() {
        let mut limiter = limiter(Kind::FixedWindow);
        assert_eq!(hints(&mut limiter, &[50_000, 50_000, 50_000, 60_000]), [None, None, Some(10_000), None]);
    }

    #[test]
    fn a_crowd_is_counted_by_who_is_there() {
        let mut limiter = limiter(Kind::Concurrency);
        assert_eq!(limiter.arrive(0, 1).hint, None);
        assert!(limiter.arrive(0, 2).hint.is_some());
    }

    #[test]
    fn a_subwindow_has_its_share_of_the_rate() {
        let model = Model { requests: 60, subwindow: Some(Duration::from_secs(1)), ..Model::default() };
        let mut limiter = Limiter::new(&model);
        assert_eq!(hints(&mut limiter, &[0, 1, 1_000]), [None, Some(999), None]);
    }
}
