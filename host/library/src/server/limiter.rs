//! The limiters, exact to the millisecond. Time comes in as an argument.

use std::time::Duration;

use super::model::{Kind, Model};
use super::window::Window;
use crate::contract::Unit;

/// What a limiter says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// Absent: admitted. Else refused, and there is room after that.
    pub(super) hint: Option<Duration>,
    /// The budget of requests.
    pub(super) requests: Budget,
    /// The budget of tokens, where there is one.
    pub(super) tokens: Option<Budget>,
}

/// The state of a budget after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) amount: u64,
    pub(super) remaining: u64,
    /// When there will be more.
    pub(super) reset: Duration,
}

#[derive(Debug)]
pub(super) enum Limiter {
    Rolling {
        requests: Window,
        tokens: Option<Window>,
        also: Vec<(Unit, Window)>,
        refused_count: bool,
        hint_counts_refused: bool,
    },
    Fixed {
        amount: u64,
        window_ms: u64,
        window: u64,
        used: u64,
    },
    Crowd {
        amount: u64,
    },
    Bucket {
        amount: u64,
        window_ms: u64,
        level: u64,
        at_ms: u64,
    },
    Unlimited,
}

impl Limiter {
    pub(super) fn new(model: &Model) -> Self {
        let (amount, window_ms) = rate(model);
        let rolling = |refused_count| Self::Rolling {
            requests: Window::new(amount, window_ms),
            tokens: model.tokens.map(|tokens| Window::new(tokens, window_ms)),
            also: model.also.iter().map(|rate| (rate.unit, Window::new(rate.amount, rate.window))).collect(),
            refused_count,
            hint_counts_refused: model.hint_counts_refused,
        };
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

    /// A request for so many tokens arrives while so many are being answered.
    pub(super) fn arrive(&mut self, now_ms: u64, tokens: u64, in_flight: u64) -> Decision {
        match self {
            Self::Rolling { requests, tokens: budget, also, refused_count, hint_counts_refused } => {
                let has_tokens = budget.is_some();
                let mut windows = vec![(requests, 1)];
                windows.extend(budget.as_mut().map(|window| (window, tokens)));
                windows.extend(also.iter_mut().map(|(unit, window)| (window, cost(*unit, tokens))));
                rolling(&mut windows, *refused_count, *hint_counts_refused, has_tokens, now_ms)
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
                let reset = (current + 1) * *window_ms - now_ms;
                let is_admitted = *used < *amount;
                *used += u64::from(is_admitted);
                decision((!is_admitted).then_some(reset), *amount, *amount - *used, reset)
            }
            Self::Crowd { amount } => {
                let is_admitted = in_flight < *amount;
                decision((!is_admitted).then_some(0), *amount, amount.saturating_sub(in_flight + 1), 0)
            }
            Self::Unlimited => decision(None, u64::MAX, u64::MAX, 0),
        }
    }

    /// A request that arrived then took fewer tokens than were reserved for it.
    pub(super) fn settle(&mut self, at_ms: u64, reserved: u64, taken: u64) {
        if let Self::Rolling { tokens: Some(window), .. } = self {
            window.settle(at_ms, reserved, taken);
        }
    }

    /// When a request for so many tokens would be admitted, that instant or later; nothing if never.
    pub(super) fn has_room_at(&mut self, now_ms: u64, tokens: u64) -> Option<u64> {
        let wait = match self {
            Self::Rolling { requests, tokens: budget, also, .. } => {
                let also = also.iter_mut().map(|(unit, window)| (window, cost(*unit, tokens)));
                let budget = budget.as_mut().map(|window| (window, tokens));
                let wait = |(window, cost): (&mut Window, u64)| {
                    window.advance(now_ms);
                    window.wait(now_ms, cost).unwrap_or(0)
                };
                [(requests, 1)].into_iter().chain(budget).chain(also).map(wait).max().unwrap_or(0)
            }
            Self::Bucket { amount, window_ms, level, at_ms } => {
                let level = *level + (now_ms - *at_ms).saturating_mul(*amount);
                window_ms.saturating_sub(level).div_ceil(*amount)
            }
            Self::Fixed { amount, window_ms, window, used } => {
                let is_full = *window == now_ms / *window_ms && *used >= *amount;
                if is_full { *window_ms - now_ms % *window_ms } else { 0 }
            }
            Self::Crowd { .. } | Self::Unlimited => 0,
        };
        now_ms.checked_add(wait)
    }
}

/// What a request with so many tokens takes of a limit.
const fn cost(unit: Unit, tokens: u64) -> u64 {
    match unit {
        Unit::Requests => 1,
        Unit::Tokens => tokens,
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

/// Every window has to have room; the hint is the longest wait.
fn rolling(
    windows: &mut [(&mut Window, u64)],
    refused_count: bool,
    hint_counts_refused: bool,
    has_tokens: bool,
    now_ms: u64,
) -> Decision {
    windows.iter_mut().for_each(|(window, _)| window.advance(now_ms));
    let wait =
        |windows: &[(&mut Window, u64)]| windows.iter().filter_map(|(window, cost)| window.wait(now_ms, *cost)).max();
    let mut hint = wait(windows);
    if hint.is_none() || refused_count {
        windows.iter_mut().for_each(|(window, cost)| window.take(now_ms, *cost));
    }
    if hint.is_some() && hint_counts_refused {
        hint = wait(windows);
    }
    let budget = |(window, _): &(&mut Window, u64)| Budget {
        amount: window.amount(),
        remaining: window.remaining(),
        reset: Duration::from_millis(window.reset(now_ms)),
    };
    Decision {
        hint: hint.map(Duration::from_millis),
        requests: budget(&windows[0]),
        tokens: windows.get(1).filter(|_| has_tokens).map(budget),
    }
}

fn bucket(level: &mut u64, amount: u64, window_ms: u64) -> Decision {
    let is_admitted = *level >= window_ms;
    if is_admitted {
        *level -= window_ms;
    }
    let missing = window_ms - *level % window_ms;
    let reset = missing.div_ceil(amount);
    decision((!is_admitted).then_some(reset), amount, *level / window_ms, reset)
}

fn decision(hint: Option<u64>, amount: u64, remaining: u64, reset: u64) -> Decision {
    let requests = Budget { amount, remaining, reset: Duration::from_millis(reset) };
    Decision { hint: hint.map(Duration::from_millis), requests, tokens: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(kind: Kind) -> Limiter {
        Limiter::new(&Model { limiter: kind, requests: 2, ..Model::default() })
    }

    fn hints(limiter: &mut Limiter, arrivals: &[u64]) -> Vec<Option<u64>> {
        arrivals.iter().map(|at| limiter.arrive(*at, 1, 0).hint.map(|hint| hint.as_millis() as u64)).collect()
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
    fn a_hint_may_count_the_request_that_it_refuses() {
        let model = Model { limiter: Kind::RollingStrict, requests: 2, hint_counts_refused: true, ..Model::default() };
        let mut limiter = Limiter::new(&model);
        assert_eq!(hints(&mut limiter, &[0, 1_000, 2_000, 61_000]), [None, None, Some(59_000), None]);
    }

    #[test]
    fn tokens_are_reserved_beside_requests() {
        let model = Model { requests: 3, tokens: Some(100), ..Model::default() };
        let mut limiter = Limiter::new(&model);
        let mut hint = |at, tokens| limiter.arrive(at, tokens, 0).hint.map(|hint| hint.as_millis() as u64);
        assert_eq!(hint(0, 60), None);
        assert_eq!(hint(1_000, 50), Some(59_000), "it has to wait for tokens");
        assert_eq!(hint(2_000, 40), None);
        assert_eq!(hint(60_000, 60), None);
        assert_eq!(hint(60_000, 0), None);
        assert_eq!(hint(60_000, 0), Some(2_000), "it has to wait for a request");
    }

    #[test]
    fn all_limits_hold_at_one_time() {
        let hour = |unit, amount| rate_of(unit, amount, 3_600_000);
        let also = vec![hour(Unit::Requests, 3), hour(Unit::Tokens, 100)];
        let mut limiter = Limiter::new(&Model { requests: 2, also, ..Model::default() });
        let mut hint = |at, tokens| limiter.arrive(at, tokens, 0).hint.map(|hint| hint.as_millis() as u64);
        assert_eq!(hint(0, 10), None);
        assert_eq!(hint(0, 10), None);
        assert_eq!(hint(0, 10), Some(60_000), "two a minute");
        assert_eq!(hint(60_000, 90), Some(3_540_000), "a hundred tokens an hour");
        assert_eq!(hint(60_000, 80), None);
        assert_eq!(hint(120_000, 0), Some(3_480_000), "three an hour");
    }

    const fn rate_of(unit: Unit, amount: u64, window: u64) -> crate::contract::Rate {
        crate::contract::Rate { unit, amount, window }
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
        assert_eq!(limiter.arrive(0, 1, 1).hint, None);
        assert!(limiter.arrive(0, 1, 2).hint.is_some());
    }

    #[test]
    fn a_subwindow_has_its_share_of_the_rate() {
        let model = Model { requests: 60, subwindow: Some(Duration::from_secs(1)), ..Model::default() };
        let mut limiter = Limiter::new(&model);
        assert_eq!(hints(&mut limiter, &[0, 1, 1_000]), [None, Some(999), None]);
    }
}
