//! The fields of the IETF draft (draft-ietf-httpapi-ratelimit-headers-10): `RateLimit` (§4), a list of what is left of each
//! policy, `"default";r=0;t=30`, and `RateLimit-Policy` (§3), a list of the policies themselves, `"default";q=100;w=60`. A field
//! that does not match as a whole is ignored, as the draft demands. Policies of the drafts up to 07 are read too.

use alloc::vec::Vec;

use crate::reply::Headers;
use crate::settings::{Rate, Unit};
use crate::time::Delay;

pub(super) const NAME: &str = "ratelimit";
const POLICY: &str = "ratelimit-policy";

/// The policies on requests that have a window.
pub(super) fn rates(headers: &Headers) -> Vec<Rate> {
    headers.all(POLICY).filter_map(rates_in).flatten().collect()
}

fn rates_in(field: &str) -> Option<Vec<Rate>> {
    let items = outside_quotes(field, ',').map(|item| rate(item.trim_matches([' ', '\t'])));
    Some(items.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

/// A policy; nothing inside it if it counts something else than requests, or has no window. Drafts up to 07 put the amount
/// where its name is now, `100;w=60`.
fn rate(item: &str) -> Option<Option<Rate>> {
    let (mut window, mut is_of_requests) = (None, true);
    let mut amount = item.split(';').next().and_then(|amount| integer(amount.trim_end()));
    let parameters: &mut dyn Iterator<Item = (&str, &str)> = match amount {
        Some(_) => &mut item.split(';').skip(1).map(parameter),
        None => &mut parameters(item)?,
    };
    for (name, value) in parameters {
        match name {
            "q" => amount = Some(integer(value)?),
            "w" => window = Some(Delay::from_secs(integer(value)?)),
            "qu" => is_of_requests = value == "\"requests\"",
            _ => {}
        }
    }
    let rate = Rate { unit: Unit::Requests, amount: amount?, window: window.unwrap_or_default() };
    Some(Some(rate).filter(|rate| is_of_requests && rate.amount > 0 && !rate.window.is_zero()))
}

/// The longest wait among the policies that have nothing left.
pub(super) fn empty(headers: &Headers) -> Option<Delay> {
    headers.all(NAME).filter_map(empty_in).max()
}

fn empty_in(field: &str) -> Option<Delay> {
    let mut longest = None;
    for item in outside_quotes(field, ',') {
        let policy = policy(item.trim_matches([' ', '\t']))?;
        longest = longest.max(policy.reset.filter(|_| policy.remaining == 0));
    }
    longest
}

struct Policy {
    remaining: u64,
    reset: Option<Delay>,
}

/// The parameters behind a policy's name.
fn parameters(item: &str) -> Option<impl Iterator<Item = (&str, &str)>> {
    let mut parts = outside_quotes(item, ';');
    parts.next().filter(|name| is_string(name.trim_end()))?;
    Some(parts.map(parameter))
}

fn parameter(text: &str) -> (&str, &str) {
    text.trim().split_once('=').unwrap_or((text, ""))
}

fn policy(item: &str) -> Option<Policy> {
    let (mut remaining, mut reset) = (None, None);
    for (name, value) in parameters(item)? {
        match name {
            "r" => remaining = Some(integer(value)?),
            "t" => reset = Some(Delay::from_secs(integer(value)?)),
            // Others are for other readers.
            _ => {}
        }
    }
    Some(Policy { remaining: remaining?, reset })
}

/// RFC 9651 §3.3.1, of which only what is not negative has a meaning here.
fn integer(text: &str) -> Option<u64> {
    let is_one = (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

/// RFC 9651 §3.3.3
fn is_string(text: &str) -> bool {
    let content = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    content.is_some_and(|content| content.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"'))
}

/// Parts between separators that are not inside a string.
fn outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn of(field: &str) -> Vec<(u64, u64)> {
        let rates = rates(&[(POLICY, field)].into_iter().collect());
        rates.into_iter().map(|rate| (rate.amount, rate.window.as_ms())).collect()
    }

    #[test]
    fn policies_are_limits() {
        assert_eq!(of(r#""burst";q=100;w=60,"day";q=1000;w=86400"#), [(100, 60_000), (1_000, 86_400_000)]);
        assert_eq!(of(r#""default";q=100;qu="requests";w=1;pk=:abc:"#), [(100, 1_000)]);
        assert_eq!(of(r#""bytes";q=65535;qu="content-bytes";w=10, "at once";q=3"#), vec![]);
        assert_eq!(of("10;w=5"), [(10, 5_000)]);
        assert_eq!(of("100;w=60, 1000;w=3600;comment=\"a day\""), [(100, 60_000), (1_000, 3_600_000)]);
        assert_eq!(of("10"), vec![], "without a window it says nothing");
        for malformed in
            [r#"default;q=100;w=60"#, r#""a";q=-1;w=60"#, r#""a";q=1.5;w=60"#, r#""a";w=60"#, "-1;w=60", "1.5;w=60", ""]
        {
            assert_eq!(of(malformed), vec![], "{malformed}");
        }
    }
}
