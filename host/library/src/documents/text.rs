//! A file that is one document.

use std::io::{self, Read};

use super::row::{MOST_BYTES, Placed, Row, too_large};

/// The document; its id is the file's name as the user gave it. A byte order mark is dropped.
pub(super) fn read(name: &str, file: impl Read) -> io::Result<Placed> {
    let mut bytes = vec![];
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Placed::new(name, 0, row(name, &bytes)))
}

fn row(name: &str, bytes: &[u8]) -> Result<Row, (Option<String>, String)> {
    if bytes.len() > MOST_BYTES {
        return Err((None, too_large()));
    }
    match str::from_utf8(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)) {
        Ok(text) => Row::text(name.into(), text.into()),
        Err(_) => Err((None, "it is not UTF-8; nothing was sent".into())),
    }
}

pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Document;
    use crate::documents::Unusable;

    fn read_bytes(bytes: &[u8]) -> Row {
        read("a.txt", bytes).unwrap().row
    }

    #[test]
    fn a_mark_at_the_beginning_is_dropped_and_the_rest_is_kept_as_it_is() {
        let text = "One\r\n\u{feff}\0two\u{2028}";
        assert_eq!(read_bytes(format!("\u{feff}{text}").as_bytes()), Document::text("a.txt", text).into());
    }

    #[test]
    fn what_is_no_text_is_not_sent() {
        let message = |bytes| match read_bytes(bytes) {
            Row::Unusable(Unusable { message, .. }) => message,
            Row::Document(document) => panic!("{document:?}"),
        };
        assert_eq!(message(b"caf\xe9"), "a.txt: it is not UTF-8; nothing was sent");
        assert_eq!(message(b" \n"), "a.txt: the document is empty; nothing was sent");
    }
}
