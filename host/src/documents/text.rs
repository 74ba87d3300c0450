//! A file that is one document.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::contract::Document;

/// The document; its id is the file's name as the user gave it. A byte order mark is dropped, and what is not UTF-8 is
/// replaced.
pub(super) fn read(name: &str, mut file: File) -> io::Result<Document> {
    let mut bytes = vec![];
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Document::text(name, text.strip_prefix('\u{feff}').unwrap_or(&text)))
}

/// Whether nothing has to be replaced.
pub(super) fn is_utf8(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| str::from_utf8(&bytes).is_ok())
}
