//! A document per row of a table (CSV, or TSV), with its id in one column and its text in another.

use std::io::{self, BufRead};

use csv::{ByteRecord, ReaderBuilder};

use super::error::InputError;
use super::row::{MOST_BYTES, Placed, Row, too_large};
use super::text::BYTE_ORDER_MARK;

/// What the columns are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The one with the id.
    pub id: String,
    /// The one with the text.
    pub text: String,
    /// What stands between columns; absent: what the first line has most of.
    pub separator: Option<u8>,
}

impl Default for Columns {
    fn default() -> Self {
        Self { id: "id".into(), text: "text".into(), separator: None }
    }
}

/// The documents, each with the line that its row begins on.
///
/// # Errors
///
/// If a column is not there.
pub(super) fn read<'a, File: BufRead>(
    name: &'a str,
    mut file: File,
    separator: Option<u8>,
    columns: &Columns,
) -> Result<impl Iterator<Item = io::Result<Placed>> + use<'a, File>, InputError> {
    let unreadable = |source| InputError::Unreadable { name: name.into(), source };
    let separator = match separator {
        Some(separator) => separator,
        None => shown(file.fill_buf().map_err(unreadable)?),
    };
    // Tabs need no quotes, and texts that begin with one are common.
    let has_quotes = separator != b'\t';
    let mut reader = ReaderBuilder::new().delimiter(separator).quoting(has_quotes).flexible(true).from_reader(file);
    let header = reader.byte_headers().map_err(|error| unreadable(error.into()))?.clone();
    let column = |column: &str| {
        let names = || header.iter().map(|known| known.strip_prefix(BYTE_ORDER_MARK).unwrap_or(known).trim_ascii());
        let exactly = names().position(|known| known == column.as_bytes());
        // `ID` is `id`, where no other column could be meant.
        let mut alike = names().enumerate().filter(|(_, known)| known.eq_ignore_ascii_case(column.as_bytes()));
        let alike = (alike.next(), alike.next());
        let only = if let (Some((index, _)), None) = alike { Some(index) } else { None };
        exactly.or(only).ok_or_else(|| InputError::NoColumn {
            name: name.into(),
            column: column.into(),
            columns: header.iter().map(|known| String::from_utf8_lossy(known).trim().to_string()).collect(),
        })
    };
    let (id, text) = (column(&columns.id)?, column(&columns.text)?);
    let (mut record, mut is_over) = (ByteRecord::new(), false);
    Ok(std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        match reader.read_byte_record(&mut record) {
            Err(error) => {
                is_over = true;
                Some(Err(error.into()))
            }
            Ok(false) => None,
            Ok(true) => {
                let line = record.position().map_or(0, csv::Position::line);
                // A separator in a text without quotes: a part of the text is in the columns after it.
                let is_wide = record.len() > header.len();
                Some(Ok(Placed::new(name, line, row(record.get(id), record.get(text), is_wide))))
            }
        }
    }))
}

/// The separator that a first line has most of, outside quotes; a comma if it has none.
fn shown(begin: &[u8]) -> u8 {
    let line = begin.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let mut is_quoted = false;
    let mut counts = [0; SEPARATORS.len()];
    for byte in line {
        is_quoted ^= *byte == b'"';
        if let Some(index) = SEPARATORS.iter().position(|separator| separator == byte).filter(|_| !is_quoted) {
            counts[index] += 1;
        }
    }
    // Of equals the first.
    let most = (0..SEPARATORS.len()).rev().max_by_key(|index| counts[*index]).unwrap_or(0);
    SEPARATORS[most]
}

fn row(id: Option<&[u8]>, text: Option<&[u8]>, is_wide: bool) -> Result<Row, (Option<String>, String)> {
    let id = id.and_then(|id| str::from_utf8(id).ok()).filter(|id| !id.is_empty()).map(String::from);
    if is_wide {
        return Err((id, "the row has more columns than the header; a text with separators needs quotes".into()));
    }
    let Some(text) = text else { return Err((id, "the row has too few columns".into())) };
    if text.len() > MOST_BYTES {
        return Err((id, too_large()));
    }
    let Ok(text) = str::from_utf8(text) else { return Err((id, "the text is not UTF-8".into())) };
    match id {
        Some(id) => Row::text(id, text.into()),
        None => Err((None, "the row has no id that can be read".into())),
    }
}

const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Unusable;

    fn all(text: impl AsRef<[u8]>, columns: &Columns) -> Vec<(String, String)> {
        let rows = read("in.csv", text.as_ref(), None, columns).unwrap();
        rows.map(|placed| match placed.unwrap().row {
            Row::Document(document) => (document.id, "sent".into()),
            Row::Unusable(Unusable { id, message }) => (id, message),
        })
        .collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.map(|(id, what)| (id.into(), what.into())).to_vec()
    }

    #[test]
    fn quotes_line_ends_and_a_byte_order_mark_are_understood() {
        let text = "\u{feff}id,text\r\na,\"one, \"\"two\"\"\r\nthree\"\r\n\r\nb,four";
        assert_eq!(all(text, &Columns::default()), pairs([("a", "sent"), ("b", "sent")]));
        let columns = Columns { id: "Number".into(), text: "Body".into(), separator: None };
        assert_eq!(all("Body,x,Number\none,2,3\n", &columns), pairs([("3", "sent")]));
    }

    #[test]
    fn a_row_that_cannot_be_used_is_named_and_the_next_one_is_read() {
        assert_eq!(
            all(b"id,text\na\n,t\nb,caf\xe9\nc,\nd,t\ne,one, two\n", &Columns::default()),
            pairs([
                ("a", "in.csv, line 2: the row has too few columns"),
                ("in.csv:3", "in.csv, line 3: the row has no id that can be read"),
                ("b", "in.csv, line 4: the text is not UTF-8"),
                ("c", "in.csv, line 5: the document is empty; nothing was sent"),
                ("d", "sent"),
                ("e", "in.csv, line 7: the row has more columns than the header; a text with separators needs quotes"),
            ])
        );
    }

    #[test]
    fn a_quote_between_tabs_is_a_sign_like_any_other() {
        let rows = read("in.tsv", "id\ttext\na\t\"Tis\nb\ttwo\n".as_bytes(), Some(b'\t'), &Columns::default()).unwrap();
        assert_eq!(rows.count(), 2);
    }

    #[test]
    fn the_separator_is_what_the_first_line_has_most_of() {
        for text in
            ["id;text;a,b\na;one, two;x\n", "id\ttext\na\tone, two\n", "id|text\na|one, two\n", "ID,Text\na,one\n"]
        {
            assert_eq!(all(text, &Columns::default()), pairs([("a", "sent")]), "{text}");
        }
        assert_eq!([shown(b"id"), shown(b""), shown(b"\"a;b;c\",id,text")], [b','; 3]);
        let told = Columns { separator: Some(b'#'), ..Columns::default() };
        let rows = read("in.csv", "id#text\na#one, two\n".as_bytes(), told.separator, &told).unwrap();
        assert_eq!(rows.count(), 1);
    }

    #[test]
    fn a_column_that_is_not_there_is_named() {
        let error = read("in.csv", "name,text\n".as_bytes(), None, &Columns::default()).err().unwrap();
        assert_eq!(error.to_string(), "in.csv has no column \"id\"; there are: name, text");
    }
}
