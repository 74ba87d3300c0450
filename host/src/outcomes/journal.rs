//! The output file is the journal: one appended line per outcome, written whole and flushed at once. A later run with the
//! same file goes on from it: what was answered is not paid for again.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::line;
use crate::contract::Outcome;

/// Where outcomes go.
#[derive(Debug)]
pub struct Journal {
    to: Destination,
    answered: HashSet<String>,
    torn_bytes: u64,
}

#[derive(Debug)]
enum Destination {
    File(File),
    Stdout,
}

/// Why an output file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be opened, read or cut.
    #[error("cannot use {path} for the results")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another process writes to it.
    #[error("{0} is in use by another becalm process")]
    Locked(PathBuf),
    /// It holds something else than results; it is left as it is.
    #[error("{path}, line {line}: this is no line of results, so the file is left alone")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
    },
}

impl Journal {
    /// Writes to standard output; nothing can be gone on from.
    pub fn stdout() -> Self {
        Self { to: Destination::Stdout, answered: HashSet::new(), torn_bytes: 0 }
    }

    /// Opens or makes the file, locks it, reads what was answered, and cuts off a last line that was torn by a crash.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, is in use, or holds something else.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let unusable = |source| JournalError::Unusable { path: path.into(), source };
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(unusable)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::Locked(path.into()),
            TryLockError::Error(source) => unusable(source),
        })?;
        let mut journal = Self { to: Destination::File(file), answered: HashSet::new(), torn_bytes: 0 };
        journal.recover(path)?;
        Ok(journal)
    }

    /// Ids that were answered by an earlier run.
    pub const fn answered(&self) -> &HashSet<String> {
        &self.answered
    }

    /// How many bytes of a torn last line were cut off.
    pub const fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Writes an outcome.
    ///
    /// # Errors
    ///
    /// If the line could not be written whole; what was written of it is cut off again where that is possible.
    pub fn append(&mut self, outcome: &Outcome) -> io::Result<()> {
        let line = format!("{}\n", line(outcome));
        match &mut self.to {
            Destination::Stdout => io::stdout().lock().write_all(line.as_bytes()),
            Destination::File(file) => {
                let end = file.seek(SeekFrom::End(0))?;
                file.write_all(line.as_bytes()).inspect_err(|_| drop(file.set_len(end)))
            }
        }
    }

    /// Makes sure that what was written survives the machine.
    ///
    /// # Errors
    ///
    /// If the machine cannot promise that.
    pub fn sync(&self) -> io::Result<()> {
        match &self.to {
            Destination::Stdout => io::stdout().lock().flush(),
            Destination::File(file) => file.sync_data(),
        }
    }

    fn recover(&mut self, path: &Path) -> Result<(), JournalError> {
        let Destination::File(file) = &mut self.to else { return Ok(()) };
        let unusable = |source| JournalError::Unusable { path: path.into(), source };
        let mut reader = BufReader::new(&*file);
        let (mut line, mut whole, mut bytes) = (0, 0, vec![]);
        loop {
            bytes.clear();
            let length = reader.read_until(b'\n', &mut bytes).map_err(unusable)? as u64;
            if !bytes.ends_with(b"\n") {
                self.torn_bytes = length;
                break;
            }
            line += 1;
            whole += length;
            let found = serde_json::from_slice::<Found>(&bytes);
            let found = found.map_err(|_| JournalError::Foreign { path: path.into(), line })?;
            if found.is_answered() {
                self.answered.insert(found.custom_id);
            }
        }
        if self.torn_bytes > 0 {
            file.set_len(whole).map_err(unusable)?;
        }
        Ok(())
    }
}

/// What of a line says whether its document was answered.
#[derive(Deserialize)]
struct Found {
    custom_id: String,
    response: Option<FoundResponse>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct FoundResponse {
    status_code: u16,
}

impl Found {
    fn is_answered(&self) -> bool {
        self.error.is_none()
            && self.response.as_ref().is_some_and(|response| (200..300).contains(&response.status_code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_cut_off_and_what_was_answered_is_known() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let good = "{\"custom_id\":\"a\",\"response\":{\"status_code\":200},\"error\":null}\n";
        let failed = "{\"custom_id\":\"b\",\"response\":{\"status_code\":400},\"error\":{\"code\":\"rejected\"}}\n";
        std::fs::write(&path, format!("{good}{failed}{{\"custom_id\":\"c\",\"resp")).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.answered(), &HashSet::from(["a".to_string()]));
        assert_eq!(journal.torn_bytes(), 22);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{good}{failed}"));
        assert!(matches!(Journal::open(&path), Err(JournalError::Locked(_))));
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, "my thesis\n").unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::Foreign { line: 1, .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my thesis\n");
    }
}
