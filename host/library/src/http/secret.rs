//! A key in every form in which a body or a header can carry it: as it is, with JSON's escapes, percent-encoded, any mixture
//! of these, in base64 and in hexadecimal digits.

use memchr::memmem;

/// What must not come back.
#[derive(Clone)]
pub(super) struct Secret {
    key: Box<[u8]>,
    /// The forms that are the same wherever they stand.
    fixed: Vec<memmem::Finder<'static>>,
}

/// What a look at one place found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The key, in so many bytes.
    Whole(usize),
    /// What may be its beginning: the bytes end there.
    Beginning,
    Nothing,
}

impl Secret {
    /// Nothing where the key is none: local servers are given words such as `none` or `EMPTY`, and answers have them, too.
    pub(super) fn new(key: &str) -> Option<Self> {
        let has = |is: fn(&u8) -> bool| key.as_bytes().iter().any(is);
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && key.len() >= SHORTEST_MIXED;
        if key.len() < SHORTEST && !is_mixed {
            return None;
        }
        let key = key.as_bytes();
        let base64 = (0..3).flat_map(|offset| [STANDARD, URL_SAFE].map(|digits| base64_core(key, offset, digits)));
        let hex = key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let forms = base64.chain([hex.to_ascii_uppercase().into_bytes(), hex.into_bytes()]);
        let fixed = forms.map(|form| memmem::Finder::new(&form).into_owned()).collect();
        Some(Self { key: key.into(), fixed })
    }

    /// Puts an asterisk for every byte of it. Says from where on the bytes may be its beginning; that has to be looked at
    /// again with what follows.
    pub(super) fn blank(&self, bytes: &mut [u8]) -> usize {
        let mut held = bytes.len();
        let mut at = 0;
        while let Some(next) = memchr::memchr3(self.key[0], b'\\', b'%', &bytes[at..]) {
            at += next;
            match found(&self.key, &bytes[at..]) {
                Found::Whole(length) => {
                    bytes[at..at + length].fill(b'*');
                    at += length;
                }
                Found::Beginning => {
                    held = held.min(at);
                    at += 1;
                }
                Found::Nothing => at += 1,
            }
        }
        for finder in &self.fixed {
            let (form, mut at) = (finder.needle(), 0);
            while let Some(next) = finder.find(&bytes[at..]) {
                bytes[at + next..at + next + form.len()].fill(b'*');
                at += next + form.len();
            }
            let longest = bytes.len().min(form.len() - 1);
            let begun = (1..=longest).rev().find(|length| bytes.ends_with(&form[..*length])).unwrap_or(0);
            held = held.min(bytes.len() - begun);
        }
        held
    }
}

/// Whether the bytes begin with the key, each of its bytes in any form.
fn found(key: &[u8], bytes: &[u8]) -> Found {
    let Some((first, rest)) = key.split_first() else { return Found::Whole(0) };
    let mut best = Found::Nothing;
    // A backslash may stand for itself, or begin what stands for a sign.
    for way in [as_it_is(*first, bytes), escaped(*first, bytes)] {
        let found = match way {
            Found::Whole(length) => match found(rest, &bytes[length..]) {
                Found::Whole(more) => return Found::Whole(length + more),
                other => other,
            },
            other => other,
        };
        if found == Found::Beginning {
            best = found;
        }
    }
    best
}

fn as_it_is(byte: u8, bytes: &[u8]) -> Found {
    match bytes {
        [] => Found::Beginning,
        [first, ..] if *first == byte => Found::Whole(1),
        _ => Found::Nothing,
    }
}

/// In JSON, or in a URL.
fn escaped(byte: u8, bytes: &[u8]) -> Found {
    match bytes {
        [b'%', digits @ ..] => of_digits(byte, &digits[..digits.len().min(2)], 2, 1),
        [b'\\', ..] => {
            // Text in JSON in JSON has its backslashes doubled.
            let slashes = bytes.iter().take_while(|byte| **byte == b'\\').count();
            match &bytes[slashes..] {
                _ if slashes > MOST_SLASHES => Found::Nothing,
                [] => Found::Beginning,
                [b'u', digits @ ..] if of_digits(byte, &digits[..digits.len().min(4)], 4, 0) != Found::Nothing => {
                    of_digits(byte, &digits[..digits.len().min(4)], 4, slashes + 1)
                }
                _ if byte == b'\\' && slashes > 1 => Found::Whole(slashes),
                [first, ..] if *first == byte && !byte.is_ascii_alphanumeric() => Found::Whole(slashes + 1),
                _ => Found::Nothing,
            }
        }
        _ => Found::Nothing,
    }
}

/// So many hexadecimal digits, after so many other bytes.
fn of_digits(byte: u8, digits: &[u8], count: usize, before: usize) -> Found {
    let expected = format!("{byte:0count$x}");
    match expected.as_bytes()[..digits.len()].eq_ignore_ascii_case(digits) {
        true if digits.len() == count => Found::Whole(before + count),
        true => Found::Beginning,
        false => Found::Nothing,
    }
}

/// The digits that the key alone decides, after so many bytes of something else.
fn base64_core(key: &[u8], offset: usize, digits: &[u8; 64]) -> Vec<u8> {
    let (first, last) = ((8 * offset).div_ceil(6), 8 * (offset + key.len()) / 6);
    let bit = |at: usize| key[at / 8 - offset] >> (7 - at % 8) & 1;
    let digit = |at: usize| (6 * at..6 * at + 6).fold(0, |value, at| value << 1 | usize::from(bit(at)));
    (first..last).map(|at| digits[digit(at)]).collect()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// What is as long is no word.
const SHORTEST: usize = 16;
/// Nor is what has letters and digits.
const SHORTEST_MIXED: usize = 4;
const MOST_SLASHES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of it, and what was held back.
    fn blanked(key: &str, text: &str) -> (String, usize) {
        let mut bytes = text.as_bytes().to_vec();
        let held = Secret::new(key).unwrap().blank(&mut bytes);
        (String::from_utf8(bytes).unwrap(), text.len() - held)
    }

    #[test]
    fn a_key_is_found_in_every_form() {
        for key in ["sk-0123456789abcdef", "a/b+c\"d\\e0123456", "k3y9", "sk-proj-A1b2_C3d4-E5f6G7h8I9"] {
            let escaped = key.bytes().map(|byte| format!("\\u{byte:04X}")).collect::<String>();
            let percent = key.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
            let json = serde_json::to_string(key).unwrap();
            let slashed = json.trim_matches('"').replace('/', "\\/");
            let mixed = key.bytes().enumerate().map(|(n, byte)| match n % 3 {
                0 => format!("\\\\u{byte:04x}"),
                1 => format!("%{byte:02X}"),
                _ => char::from(byte).to_string(),
            });
            let hex = key.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
            for form in [key.to_string(), escaped, percent, slashed, mixed.collect(), hex] {
                let (left, held) = blanked(key, &format!("wrong: {form}."));
                assert_eq!((left, held), (format!("wrong: {}.", "*".repeat(form.len())), 0), "{key} as {form}");
            }
        }
    }

    #[test]
    fn base64_of_it_is_blanked_whatever_stands_before() {
        // printf 'Bearer sk-0123456789abcdef' | base64, and with one and two signs more before it.
        for (text, clear) in [
            ("QmVhcmVyIHNrLTAxMjM0NTY3ODlhYmNkZWY=", "QmVhcmVyIH"),
            ("eEJlYXJlciBzay0wMTIzNDU2Nzg5YWJjZGVm", "eEJlYXJlciB"),
            ("eHhCZWFyZXIgc2stMDEyMzQ1Njc4OWFiY2RlZg==", "eHhCZWFyZXIg"),
        ] {
            let (left, _) = blanked("sk-0123456789abcdef", text);
            assert!(left.starts_with(clear) && left.contains("*********************"), "{left}");
            assert!(!left.contains("MDEy") && !left.contains("0MTI") && !left.contains("IzND"), "{left}");
        }
    }

    #[test]
    fn a_beginning_is_held_back() {
        assert_eq!(blanked("sk-0123456789abcdef", "x sk-01"), ("x sk-01".into(), 5));
        assert_eq!(blanked("sk-0123456789abcdef", "x sk-\\u00").1, 7);
        assert_eq!(blanked("sk-0123456789abcdef", "x s").1, 1);
    }

    #[test]
    fn words_are_no_keys() {
        for word in ["none", "EMPTY", "ollama", "lm-studio", "12", "a1"] {
            assert!(Secret::new(word).is_none(), "{word}");
        }
    }
}
