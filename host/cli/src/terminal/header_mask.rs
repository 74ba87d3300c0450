//! Header fields as they may be shown: those that may be secret are masked.

use std::fmt::Write;

/// A field on a line of its own, indented.
pub(crate) fn line(name: &str, value: &[u8]) -> String {
    let mut line = format!("  {name}: ");
    if is_secret(&name.to_ascii_lowercase()) {
        line.push('…');
        return line;
    }
    // A value may hold what a terminal would obey.
    for part in String::from_utf8_lossy(value).chars() {
        let _ = if part.is_control() { write!(line, "{}", part.escape_default()) } else { write!(line, "{part}") };
    }
    line
}

/// Whether a value is nobody else's concern. (Limits count tokens too, in the plural.)
pub(crate) fn is_secret(name: &str) -> bool {
    ["authorization", "cookie", "api-key", "secret", "token-"].iter().any(|part| name.contains(part))
        || name.ends_with("token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_nothing_reaches_the_terminal_as_a_command() {
        for name in ["Set-Cookie", "X-Api-Key", "x-amz-security-token", "token-id"] {
            assert_eq!(line(name, b"1"), format!("  {name}: …"));
        }
        assert_eq!(line("x-ratelimit-limit-tokens", b"1"), "  x-ratelimit-limit-tokens: 1");
        assert_eq!(line("x-note", b"a\x1b[31mb"), "  x-note: a\\u{1b}[31mb");
        assert_eq!(line("retry-after", b"52"), "  retry-after: 52");
    }
}
