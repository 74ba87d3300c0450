//! Spans of time written as decimals and as Go durations. Grammar first: a value matches as a whole, in ASCII, or not at
//! all. Nothing overflows: values saturate. Parts of a millisecond round up, because a hint is a floor.

use crate::time::Delay;

/// `1*DIGIT [ "." 1*DIGIT ]`, in seconds: `52`, `007`, `292.052427053`.
pub(super) fn seconds(text: &str) -> Option<Delay> {
    decimal(text, SECOND).map(rounded_up)
}

/// The same in milliseconds.
pub(super) fn milliseconds(text: &str) -> Option<Delay> {
    decimal(text, MILLISECOND).map(rounded_up)
}

/// A Go duration without sign, `1*( decimal unit )`: `6m0s`, `2m59.56s`, `17ms`.
pub(super) fn go_duration(text: &str) -> Option<Delay> {
    let mut total = 0_u128;
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(number);
        let (name, scale) = UNITS.iter().find(|(name, _)| tail.starts_with(name))?;
        total = total.saturating_add(decimal(number, *scale)?);
        rest = &tail[name.len()..];
    }
    (!text.is_empty()).then(|| rounded_up(total))
}

/// A number without sign, fraction or exponent; saturates.
pub(super) fn integer(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Nanoseconds in a decimal of a unit that has so many of them.
fn decimal(text: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let whole = u128::from(integer(whole)?).saturating_mul(scale);
    Some(whole.saturating_add(match fraction {
        Some(fraction) => part(fraction, scale)?,
        None => 0,
    }))
}

/// Nanoseconds in the digits behind the point, rounded up.
fn part(digits: &str, scale: u128) -> Option<u128> {
    integer(digits)?;
    let significant = &digits[..digits.len().min(MOST_DIGITS)];
    let value = u128::from(integer(significant)?);
    Some((value * scale).div_ceil(10_u128.pow(significant.len() as u32)))
}

fn rounded_up(nanoseconds: u128) -> Delay {
    Delay::from_ms(u64::try_from(nanoseconds.div_ceil(MILLISECOND)).unwrap_or(u64::MAX))
}

const MILLISECOND: u128 = 1_000_000;
const SECOND: u128 = 1_000 * MILLISECOND;
const MINUTE: u128 = 60 * SECOND;
/// Longer names before those that they begin with. Go writes micro with either sign (U+00B5, U+03BC) or `u`.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", MILLISECOND),
    ("s", SECOND),
    ("m", MINUTE),
    ("h", 60 * MINUTE),
];
/// Digits behind the point that can matter: an hour has 3.6e12 ns.
const MOST_DIGITS: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Option<u64> {
        go_duration(text).map(Delay::as_ms)
    }

    #[test]
    fn go_durations_match_whole_or_not_at_all() {
        assert_eq!(ms("2m59.56s"), Some(179_560));
        assert_eq!(ms("17ms"), Some(17));
        assert_eq!(ms("23h47m36.648s"), Some(85_656_648));
        assert_eq!(ms("1h2m3.5s"), Some(3_723_500));
        for wrong in ["", "6m0", "6 m 0 s", "-1s", "1d", "60", ".5s", "1.s", "s", "1.2.3s"] {
            assert_eq!(ms(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn seconds_round_up_and_saturate() {
        assert_eq!(seconds("292.052427053").map(Delay::as_ms), Some(292_053));
        assert_eq!(seconds("0.503").map(Delay::as_ms), Some(503));
        assert!(seconds(&"9".repeat(400)) > Some(Delay::from_secs(u64::MAX / 10_000)));
        for wrong in ["", "+5", "-5", "1_000", "inf", "nan", "\u{b2}", "\u{ff12}", "\u{a0}120", "5.", ".5", "1e3"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
