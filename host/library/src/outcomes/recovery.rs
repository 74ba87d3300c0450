//! What a file of results says of earlier runs, and how much of it is whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::journal_error::JournalError;
use super::result_history::ResultHistory;

/// What a file says of earlier runs, without a lock and without a change; nothing where there is no such file.
///
/// # Errors
///
/// If it cannot be read, or holds something else.
pub fn history(path: &Path) -> Result<ResultHistory, JournalError> {
    match File::open(path) {
        Ok(file) => read(&file, path).map(|recovered| recovered.history),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ResultHistory::default()),
        Err(source) => Err(JournalError::Unusable { path: path.into(), source }),
    }
}

/// What a file of results says.
pub(super) struct Recovered {
    pub(super) history: ResultHistory,
    /// Bytes of it that are whole lines, and those of a torn one at its end.
    pub(super) whole: u64,
    pub(super) torn: u64,
    /// The last line is whole, but for its end.
    pub(super) is_open: bool,
}

pub(super) fn read(file: &File, path: &Path) -> Result<Recovered, JournalError> {
    let mut reader = BufReader::new(file);
    let (mut line, mut whole, mut bytes) = (0, 0, vec![]);
    let mut history = ResultHistory::default();
    loop {
        bytes.clear();
        let length = reader.read_until(b'\n', &mut bytes);
        let length = length.map_err(|source| JournalError::Unusable { path: path.into(), source })? as u64;
        if !bytes.ends_with(b"\n") {
            // An editor, or `head -c`, may have taken no more than the end of the line.
            let is_open = length > 0 && history.add(&bytes).is_ok();
            history.settle();
            let (whole, torn) = if is_open { (whole + length, 0) } else { (whole, length) };
            return Ok(Recovered { history, whole, torn, is_open });
        }
        line += 1;
        whole += length;
        history.add(&bytes).map_err(|_| JournalError::Foreign { path: path.into(), line })?;
    }
}
