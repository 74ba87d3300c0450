//! What an endpoint says, without what a terminal would obey.

/// Text that may be somebody else's, without what a terminal would obey; line ends stay.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' => printable.push(sign),
            sign if sign.is_control() || is_direction(sign) => printable.extend(sign.escape_default()),
            sign => printable.push(sign),
        }
    }
    printable
}

/// The same in one line: what an endpoint says is not to look like a line of ours.
pub(crate) fn in_one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// Signs that turn the direction of writing make a text look like another one.
const fn is_direction(sign: char) -> bool {
    matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal_as_a_command() {
        assert_eq!(printable("a\x1b]0;owned\x07\u{9b}31mb\r\n"), "a\\u{1b}]0;owned\\u{7}\\u{9b}31mb\\r\n");
        assert_eq!(printable("abc\u{202e}fed"), "abc\\u{202e}fed");
        assert_eq!(printable("Grüße, 世界 🎉"), "Grüße, 世界 🎉");
        assert_eq!(in_one_line("no\nerror: yes"), "no\\nerror: yes");
    }
}
