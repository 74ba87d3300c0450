//! What a reply says about waiting and about limits. Reading only: what follows from it is decided by the gate and the
//! limiter. A parser never fails and never guesses; what it cannot read is named, so that it can be reported.

mod body;
mod budget;
mod hint;
mod http_date;
mod message;
mod number;
mod rate_limit;
mod reset;

use alloc::vec::Vec;

pub use self::budget::Budget;
pub use self::hint::{Hint, IgnoredHint};
use crate::error_body::ErrorBody;
use crate::reply::{Headers, Reply};
use crate::settings::Rate;
use crate::time::{Delay, Epoch};

/// Everything that a reply says about waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The best hint: the first source that could be read.
    pub wait: Option<Hint>,
    /// Every budget of which something was said.
    pub budgets: Vec<Budget>,
    /// Limits that are stated with their window.
    pub rates: Vec<Rate>,
    /// What could not be read.
    pub ignored: Vec<IgnoredHint>,
}

impl Hints {
    /// Reads a reply: its headers, and where they name no wait, its body. `now` is the wall clock, for dates where the
    /// reply has none of its own.
    pub fn read(reply: &Reply, now: Epoch) -> Self {
        let mut hints = Self::of_headers(&reply.headers, now);
        hints.wait = hints.wait.or_else(|| body::hint(reply, now));
        if reply.status == 429 {
            hints.rates.extend(message::rate(&ErrorBody::read(&reply.body).message));
        }
        hints
    }

    fn of_headers(headers: &Headers, now: Epoch) -> Self {
        let mut hints = Self::default();
        let said = hints.retry_after_ms(headers).or_else(|| hints.retry_after(headers, now));
        for (budget, ignored) in budget::read(headers, now) {
            hints.budgets.extend(budget);
            hints.ignored.extend(ignored);
        }
        hints.rates = rate_limit::rates(headers);
        hints.rates.extend(budget::rates(headers));
        let drafted = rate_limit::empty(headers).map(|wait| Hint { wait, source: rate_limit::NAME });
        hints.wait = said.or_else(|| hints.empty_budget().into_iter().chain(drafted).max_by_key(|hint| hint.wait));
        hints
    }

    fn retry_after_ms(&mut self, headers: &Headers) -> Option<Hint> {
        self.longest(headers, "retry-after-ms", number::milliseconds)
    }

    /// RFC 9110 §10.2.3; a date is measured against the reply's own clock where it shows one that is fresh.
    fn retry_after(&mut self, headers: &Headers, now: Epoch) -> Option<Hint> {
        let fresh = headers.first("age").is_none();
        let date = headers.first("date").filter(|_| fresh).and_then(|date| http_date::http_date(date, now));
        let server_now = date.unwrap_or(now);
        self.longest(headers, "retry-after", |text| {
            number::seconds(text)
                .or_else(|| http_date::http_date(text, server_now).map(|at| at.since(server_now)))
                .or_else(|| longest_of_list(text))
        })
    }

    /// The longest of all values under a name. A single field that comes twice is the sender's mistake (RFC 9110 §5.3);
    /// the longest can do no harm.
    fn longest(
        &mut self,
        headers: &Headers,
        name: &'static str,
        parse: impl Fn(&str) -> Option<Delay>,
    ) -> Option<Hint> {
        let waits = headers.all(name).map(|value| (value, parse(value))).collect::<Vec<_>>();
        for (value, _) in waits.iter().filter(|(_, wait)| wait.is_none()) {
            self.ignore(name, value);
        }
        let wait = waits.into_iter().filter_map(|(_, wait)| wait).max()?;
        Some(Hint { wait, source: name })
    }

    /// The longest reset among the budgets that are empty; the resets of others are nobody's concern.
    fn empty_budget(&self) -> Option<Hint> {
        self.budgets.iter().filter_map(Budget::hint).max_by_key(|hint| hint.wait)
    }

    fn ignore(&mut self, name: &'static str, value: &str) {
        self.ignored.push(IgnoredHint { name, value: value.into() });
    }
}

/// A field that some intermediary joined, such as `2814, 2`: every part must be a number.
fn longest_of_list(text: &str) -> Option<Delay> {
    let parts = text.split(',').map(|part| number::seconds(part.trim_matches(' ')));
    parts.collect::<Option<Vec<_>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Epoch = Epoch::from_ms(1_796_040_000_000);

    fn wait(fields: &[(&str, &str)]) -> Option<(u64, &'static str)> {
        let reply = Reply { headers: fields.iter().copied().collect(), ..Reply::default() };
        Hints::read(&reply, NOON).wait.map(|hint| (hint.wait.as_ms(), hint.source))
    }

    #[test]
    fn retry_after_ms_comes_first_even_when_it_says_zero() {
        assert_eq!(wait(&[("Retry-After", "1"), ("retry-after-ms", "250")]), Some((250, "retry-after-ms")));
        assert_eq!(wait(&[("retry-after-ms", "0"), ("Retry-After", "5")]), Some((0, "retry-after-ms")));
        assert_eq!(wait(&[("retry-after-ms", "-5"), ("Retry-After", "5")]), Some((5_000, "retry-after")));
    }

    #[test]
    fn of_several_values_the_longest_holds() {
        assert_eq!(wait(&[("Retry-After", "2814, 2")]), Some((2_814_000, "retry-after")));
        assert_eq!(wait(&[("Retry-After", "2"), ("retry-after", "2814")]), Some((2_814_000, "retry-after")));
    }

    #[test]
    fn a_date_is_measured_against_the_servers_clock() {
        let late = ("Retry-After", "Mon, 30 Nov 2026 12:06:00 GMT");
        assert_eq!(wait(&[late, ("Date", "Mon, 30 Nov 2026 12:05:00 GMT")]), Some((60_000, "retry-after")));
        assert_eq!(wait(&[late]), Some((360_000, "retry-after")));
    }

    #[test]
    fn what_a_gateway_passes_on_is_read_where_it_says_nothing_itself() {
        assert_eq!(wait(&[("llm_provider-retry-after", "60")]), Some((60_000, "retry-after")));
        assert_eq!(wait(&[("LLM_Provider-Retry-After", "60"), ("Retry-After", "5")]), Some((5_000, "retry-after")));
    }

    #[test]
    fn only_empty_budgets_are_a_reason_to_wait() {
        let fields = [
            ("x-ratelimit-remaining-requests", "100"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "1m30s"),
        ];
        assert_eq!(wait(&fields), Some((90_000, "x-ratelimit-reset-tokens")));
        assert_eq!(wait(&fields[..2]), None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let headers = [("Retry-After", "120;q=1")].into_iter().collect();
        let hints = Hints::of_headers(&headers, NOON);
        assert_eq!(hints.wait, None);
        assert_eq!(hints.ignored, [IgnoredHint { name: "retry-after", value: "120;q=1".into() }]);
    }
}
