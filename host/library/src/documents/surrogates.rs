//! Lone surrogates in JSON: `\ud83c` without its other half. Whoever cut a text in the middle of a character left them;
//! no UTF-8 can hold them, and endpoints answer them with 400 or 500.

use memchr::memchr;

/// Replaces each by U+FFFD, in place; whole pairs stay. Says whether there was one.
pub(super) fn mend(json: &mut [u8]) -> bool {
    let (mut at, mut is_mended) = (0, false);
    while let Some(next) = json.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        at += next;
        match escape(json, at) {
            Some(HIGH) if matches!(escape(json, at + ESCAPE), Some(LOW)) => at += 2 * ESCAPE,
            Some(_) => {
                json[at + 2..at + ESCAPE].copy_from_slice(b"fffd");
                is_mended = true;
                at += ESCAPE;
            }
            // An escaped backslash is no beginning of another escape.
            None => at += 2,
        }
    }
    is_mended
}

/// The first of the surrogates' kind that is escaped there.
fn escape(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let unit = u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    [HIGH, LOW].into_iter().find(|kind| unit & 0xfc00 == *kind)
}

const HIGH: u16 = 0xd800;
const LOW: u16 = 0xdc00;
/// Bytes of an escape.
const ESCAPE: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_ones_are_replaced() {
        for (before, after) in [
            (r"bad \ud83c end", r"bad \ufffd end"),
            (r"\udc00\ud83c", r"\ufffd\ufffd"),
            (r"\uD83C\uDF89 \ud83c\ud83c\udf89", r"\uD83C\uDF89 \ufffd\ud83c\udf89"),
            (r"\\ud83c \\\ud83c", r"\\ud83c \\\ufffd"),
            (r"\ud8", r"\ud8"),
            (r"\u00e9\n\", r"\u00e9\n\"),
        ] {
            let mut json = before.as_bytes().to_vec();
            assert_eq!(mend(&mut json), before != after, "{before}");
            assert_eq!(String::from_utf8(json).unwrap(), after);
        }
    }
}
