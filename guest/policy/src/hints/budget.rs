//! Budgets as endpoints state them: how much a window has, how much of it is left, and when there will be more. Each
//! provider has header names of its own.

use super::hint::{Hint, IgnoredHint};
use super::{number, reset};
use crate::reply::Headers;
use crate::settings::{LARGEST_COUNT, Rate, Unit};
use crate::time::{Delay, Epoch};

/// The state of one budget as the endpoint reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What it counts; absent where the headers do not say.
    pub unit: Option<Unit>,
    /// How much a window has.
    pub amount: Option<u64>,
    /// How much of it is left.
    pub remaining: Option<u64>,
    /// When more will be left.
    pub reset: Option<Delay>,
    reset_name: &'static str,
}

impl Budget {
    /// The wait for a budget that is empty. One that does not say what is left counts as empty: its hint is used only
    /// where a request was refused.
    pub(super) fn hint(&self) -> Option<Hint> {
        let wait = self.reset.filter(|_| self.remaining.unwrap_or(0) == 0)?;
        Some(Hint { wait, source: self.reset_name })
    }
}

/// Reads every budget that is stated, and its reset where that cannot be read.
pub(super) fn read(headers: &Headers, now: Epoch) -> impl Iterator<Item = (Option<Budget>, Option<IgnoredHint>)> {
    families(headers).flatten().map(move |(unit, [amount, remaining, reset])| {
        let budget = Budget {
            unit: *unit,
            amount: headers.first(amount).and_then(count),
            remaining: headers.first(remaining).and_then(count),
            reset: headers.first(reset).and_then(|value| reset::until(value, now)),
            reset_name: reset,
        };
        let unread = headers.first(reset).filter(|_| budget.reset.is_none());
        // A negative number stands for "unknown"; such a budget says nothing.
        let is_unknown = headers.first(remaining).is_some() && budget.remaining.is_none();
        let says_something = budget.amount.or(budget.remaining).is_some() || budget.reset.is_some();
        let ignored = unread.map(|value| IgnoredHint { name: reset, value: value.into() });
        (Some(budget).filter(|_| !is_unknown && says_something), ignored)
    })
}

/// The budgets of the families of names that the headers have.
fn families(headers: &Headers) -> impl Iterator<Item = &'static [(Option<Unit>, [&'static str; 3])]> {
    let families = [("x-ratelimit-", &COMMON[..]), ("anthropic-ratelimit-", &ANTHROPIC[..])];
    families.into_iter().filter(|(prefix, _)| headers.has_prefix(prefix)).map(|(_, budgets)| budgets)
}

/// Limits whose name says the window.
pub(super) fn rates(headers: &Headers) -> impl Iterator<Item = Rate> {
    PER_MINUTE.into_iter().filter_map(|(unit, name)| {
        let amount = headers.first(name).and_then(count).filter(|amount| *amount > 0)?;
        Some(Rate { unit, amount, window: Delay::from_secs(60) })
    })
}

/// How many requests or tokens.
fn count(text: &str) -> Option<u64> {
    number::integer(text).map(|count| count.min(LARGEST_COUNT))
}

const PER_MINUTE: [(Unit, &str); 2] =
    [(Unit::Requests, "x-ratelimit-limit-req-minute"), (Unit::Tokens, "x-ratelimit-limit-tokens-minute")];
/// Unit, and the names of amount, remaining and reset.
const COMMON: [(Option<Unit>, [&str; 3]); 3] = [
    (
        Some(Unit::Requests),
        ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    ),
    (Some(Unit::Tokens), ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"]),
    (None, ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]),
];
const ANTHROPIC: [(Option<Unit>, [&str; 3]); 4] = [
    (
        Some(Unit::Requests),
        [
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
        ],
    ),
    (
        Some(Unit::Tokens),
        [
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
        ],
    ),
    // Tokens of one direction only: a reason to wait, not a limit that the estimate could keep to.
    (
        None,
        [
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
        ],
    ),
    (
        None,
        [
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
        ],
    ),
];
