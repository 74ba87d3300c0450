//! Reset times: five encodings come under the same header name and are told apart by grammar, then by size.

use crate::hints::number;
use crate::time::{Delay, Epoch};

/// How long until a reset: RFC 3339, a Go duration, decimal seconds, epoch seconds (from 1e9) or epoch milliseconds
/// (from 1e11). Nothing for an instant that has passed.
pub(super) fn until(text: &str, now: Epoch) -> Option<Delay> {
    if let Some(at) = timestamp(text) {
        return Some(at.since(now));
    }
    number::go_duration(text).or_else(|| number::seconds(text).map(|value| by_size(value, now)))
}

/// A bare number means seconds, or an instant if it is as large as one.
fn by_size(value: Delay, now: Epoch) -> Delay {
    if value >= EPOCH_MILLISECONDS {
        Epoch::from_ms(value.divided_by(1_000).as_ms()).since(now)
    } else if value >= EPOCH_SECONDS {
        Epoch::from_ms(value.as_ms()).since(now)
    } else {
        value
    }
}

/// RFC 3339 with an offset. The shape is checked first: the library also reads other forms.
fn timestamp(text: &str) -> Option<Epoch> {
    let shape = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        10 => matches!(byte, b'T' | b't'),
        13 | 16 => byte == b':',
        0..=18 => byte.is_ascii_digit(),
        _ => byte.is_ascii_digit() || matches!(byte, b'.' | b'Z' | b'z' | b'+' | b'-' | b':'),
    };
    if text.len() < SHORTEST_TIMESTAMP || !text.bytes().enumerate().all(shape) {
        return None;
    }
    let ms = text.parse::<jiff::Timestamp>().ok()?.as_millisecond();
    Some(Epoch::from_ms(u64::try_from(ms).unwrap_or(0)))
}

/// 2001-09-09 as seconds; as a span it would be 31 years.
const EPOCH_SECONDS: Delay = Delay::from_secs(1_000_000_000);
/// The year 5138 as seconds, 1973 as milliseconds.
const EPOCH_MILLISECONDS: Delay = Delay::from_secs(100_000_000_000);
const SHORTEST_TIMESTAMP: usize = "2026-11-30T12:00:30Z".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_is_told_from_the_others() {
        let now = Epoch::from_ms(1_796_040_000_000);
        for (text, ms) in [
            ("2026-11-30T12:00:30Z", Some(30_000)),
            ("2026-11-30T12:00:30.250Z", Some(30_250)),
            ("2026-11-30T13:00:30+01:00", Some(30_000)),
            ("2026-11-30T12:00:30", None),
            ("1796040045", Some(45_000)),
            ("1796040045000", Some(45_000)),
            ("1795999999", Some(0)),
            ("60", Some(60_000)),
            ("33011.382867097855", Some(33_011_383)),
            ("6m0s", Some(360_000)),
            ("-1", None),
            ("-1s", None),
            ("1d", None),
        ] {
            assert_eq!(until(text, now).map(Delay::as_ms), ms, "{text}");
        }
    }
}
