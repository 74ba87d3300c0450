//! JSON that is not quite JSON, as real servers send it: read as far as an outcome needs. What is kept of an answer is its
//! body as it came.

use alloc::borrow::Cow;
use alloc::string::String;

/// The same text with what no parser takes made harmless: `NaN` and `Infinity` (Python writes them) and whatever is nested
/// too deeply become `null`, and halves of surrogate pairs the sign that stands for what cannot be read.
pub(super) fn mended(json: &str) -> String {
    let mut mended = String::with_capacity(json.len());
    let mut depth = 0_usize;
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '"' => string(rest),
            _ => (Cow::from(&rest[..first.len_utf8()]), &rest[first.len_utf8()..]),
        };
        let (token, after) = match NO_NUMBERS.iter().find_map(|name| rest.strip_prefix(name)) {
            Some(after) => (Cow::from("null"), after),
            None => (token, after),
        };
        match first {
            '[' | '{' => {
                depth += 1;
                if depth == DEEPEST {
                    mended.push_str("null");
                }
            }
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_closing = matches!(first, ']' | '}');
        if depth + usize::from(is_closing) < DEEPEST {
            mended.push_str(&token);
        }
        rest = after;
    }
    mended
}

/// A string, and what follows it; one without an end ends the text.
fn string(text: &str) -> (Cow<'_, str>, &str) {
    let bytes = text.as_bytes();
    let mut end = 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += 1 + usize::from(bytes[end] == b'\\');
    }
    let (string, after) = text.split_at_checked(end + 1).unwrap_or((text, ""));
    (if string.contains("\\u") { whole_signs(string).into() } else { string.into() }, after)
}

/// Replaces escapes that are one half of a pair.
fn whole_signs(string: &str) -> String {
    let mut whole = String::with_capacity(string.len());
    let mut rest = string;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // An escaped sign may be longer than one byte where the escape is none.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    whole.push_str(rest);
    whole
}

/// The UTF-16 unit that `\uXXXX` at the start of a text stands for.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

const NO_NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
/// What an outcome needs is seldom deeper than five; parsers give up at 128.
const DEEPEST: usize = 100;

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn what_no_parser_takes_becomes_harmless() {
        assert_eq!(mended(r#"{"a":NaN,"b":[-Infinity,Infinity]}"#), r#"{"a":null,"b":[null,null]}"#);
        assert_eq!(mended(r#"{"a":"NaN \" Infinity"}"#), r#"{"a":"NaN \" Infinity"}"#);
        assert_eq!(mended(r#""\ud83d\ude00 \ud83d \ude00 \\ud83d""#), r#""\ud83d\ude00 \ufffd \ufffd \\ud83d""#);
    }

    #[test]
    fn what_is_nested_too_deeply_is_left_out() {
        let deep = format!("{{\"deep\":{}1{},\"text\":\"ok\"}}", "[".repeat(5_000), "]".repeat(5_000));
        let value = serde_json::from_str::<serde_json::Value>(&mended(&deep)).unwrap();
        assert_eq!(value["text"], "ok");
    }

    #[test]
    fn any_text_is_survived() {
        for text in ["\"", "\"\\", "\"\\u", "\"\\ud83", "]]]}", "\\", "\"\\é\"", "-Infinit", "\"\\ud83d\\u\""] {
            mended(text);
        }
    }
}
