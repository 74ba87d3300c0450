//! The `RateLimit` field of the IETF draft (draft-ietf-httpapi-ratelimit-headers-10 §4): a list of policies, each a string
//! with parameters, `"default";r=0;t=30`. A field that does not match as a whole is ignored, as the draft demands.

use crate::reply::Headers;
use crate::time::Delay;

pub(super) const NAME: &str = "ratelimit";

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

fn policy(item: &str) -> Option<Policy> {
    let mut parts = outside_quotes(item, ';');
    parts.next().filter(|name| is_string(name.trim_end()))?;
    let (mut remaining, mut reset) = (None, None);
    for parameter in parts {
        let (name, value) = parameter.trim_start().split_once('=').unwrap_or((parameter, ""));
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
