//! Waits in prose, the last resort: "Please try again in 1.2s." A phrase, then a span of time with its unit; a number without
//! a unit is no span, and neither is any other number.

use super::number;
use crate::settings::{Rate, Unit};
use crate::time::Delay;

/// The rate that a message states: "RPM limit=20" as LiteLLM says it, "requests per min (RPM): Limit 3" as OpenAI does.
pub(super) fn rate(message: &str) -> Option<Rate> {
    RATES.iter().find_map(|(name, unit, window)| {
        let (_, rest) = message.split_once(name)?;
        let rest = rest.strip_prefix("): ").unwrap_or(rest).trim_start();
        let amount = rest.strip_prefix("limit=").or_else(|| rest.strip_prefix("Limit "))?;
        let digits = amount.bytes().take_while(u8::is_ascii_digit).count();
        let amount = number::integer(&amount[..digits]).filter(|amount| *amount > 0)?;
        Some(Rate { unit: *unit, amount, window: *window })
    })
}

/// The wait that a message names.
pub(super) fn wait(message: &str) -> Option<Delay> {
    let message = message.to_ascii_lowercase();
    PHRASES.iter().find_map(|phrase| {
        let mut rest = message.as_str();
        while let Some(at) = rest.find(phrase) {
            rest = &rest[at + phrase.len()..];
            if let Some(wait) = span(rest) {
                return Some(wait);
            }
        }
        None
    })
}

/// `6m0s`, `26.66s`, `33 seconds` at the start of a text.
fn span(text: &str) -> Option<Delay> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let word = word.trim_end_matches('.');
    number::go_duration(word).or_else(|| {
        let digits = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
        let (number, unit) = word.split_at(digits);
        let unit = if unit.is_empty() {
            rest.strip_prefix(' ')?.split(|c: char| !c.is_ascii_alphabetic()).next()?
        } else {
            unit
        };
        spelled(number, unit)
    })
}

fn spelled(number: &str, unit: &str) -> Option<Delay> {
    let factor = match unit {
        "ms" | "millisecond" | "milliseconds" => return number::milliseconds(number),
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3_600,
        _ => return None,
    };
    number::seconds(number).map(|seconds| seconds.times(factor))
}

/// More telling ones first.
const PHRASES: [&str; 6] = ["try again in ", "retry in ", "retry after ", "try again after ", "reset after ", "wait "];

const RATES: [(&str, Unit, Delay); 4] = [
    ("RPM", Unit::Requests, Delay::from_secs(60)),
    ("TPM", Unit::Tokens, Delay::from_secs(60)),
    ("RPD", Unit::Requests, Delay::from_secs(86_400)),
    ("TPD", Unit::Tokens, Delay::from_secs(86_400)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_state_a_rate() {
        let of = |message| rate(message).map(|rate| (rate.unit, rate.amount, rate.window.as_ms()));
        let litellm = "litellm.RateLimitError: Model rate limit exceeded. RPM limit=20, current usage=24";
        assert_eq!(of(litellm), Some((Unit::Requests, 20, 60_000)));
        let openai = "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500.";
        assert_eq!(of(openai), Some((Unit::Tokens, 30_000, 60_000)));
        for silent in ["RPM limit=", "RPM limit=0", "RPM limit exceeded", "Limit 3", ""] {
            assert_eq!(of(silent), None, "{silent}");
        }
    }

    #[test]
    fn only_a_phrase_with_a_unit_is_a_wait() {
        for (message, ms) in [
            ("Please try again in 1.2s.", Some(1_200)),
            ("Please try again in 6m0s.", Some(360_000)),
            ("Please try again in 500ms", Some(500)),
            ("Please retry in 26.660853464s.", Some(26_661)),
            ("Please retry after 33 seconds.", Some(33_000)),
            ("Your quota will reset after 2h7m23s.", Some(7_643_000)),
            ("Please wait 41 seconds before retrying.", Some(41_000)),
            ("Please wait a moment, then try again in 2 minutes", Some(120_000)),
            ("Please try again later.", None),
            ("try again in 30", None),
            ("Limit 200000, Used 152566, Requested 60651.", None),
            ("try again in \u{ff12}s", None),
        ] {
            assert_eq!(wait(message).map(Delay::as_ms), ms, "{message}");
        }
    }
}
