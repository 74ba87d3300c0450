//! The output file is the journal: one appended line per outcome, written whole and flushed at once. A later run with the
//! same file goes on from it: what was answered is not paid for again.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use memchr::memrchr;
use tracing::{debug, trace};

use super::journal_error::JournalError;
use super::lock::lock;
use super::recovery::{Recovered, read};
use super::result_history::ResultHistory;
use super::result_line::line;
use crate::contract::Outcome;
use crate::documents::Fingerprint;

/// Where outcomes go.
#[derive(Debug)]
pub struct Journal {
    to: Destination,
    history: Arc<ResultHistory>,
    torn_bytes: u64,
    /// Since when something is written that nobody makes safe yet.
    unsafe_since: Option<Instant>,
    /// Makes it safe meanwhile: on a slow disk that takes longer than an answer.
    syncing: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
enum Destination {
    File(File),
    /// A pipe or a device: nothing that was written there can be read.
    Stream(File),
    Stdout,
}

impl Journal {
    /// Writes to standard output; nothing can be gone on from.
    pub fn stdout() -> Self {
        Self::on(Destination::Stdout)
    }

    /// Opens or makes the file, locks it, reads what was answered, and cuts off a last line that was torn by a crash.
    ///
    /// A pipe or a device is written to as it is.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, is in use, or holds something else.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let unusable = |source| JournalError::Unusable { path: path.into(), source };
        if std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
            let stream = OpenOptions::new().write(true).open(path).map_err(unusable)?;
            return Ok(Self::on(Destination::Stream(stream)));
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(unusable)?;
        lock(&file, path)?;
        let mut journal = Self::on(Destination::File(file));
        journal.recover(path)?;
        debug!(path = %path.display(), known = journal.history.len(), torn_bytes = journal.torn_bytes, "the journal is open");
        Ok(journal)
    }

    fn on(to: Destination) -> Self {
        Self { to, history: Arc::default(), torn_bytes: 0, unsafe_since: None, syncing: None }
    }

    /// What earlier runs brought home.
    pub fn history(&self) -> Arc<ResultHistory> {
        Arc::clone(&self.history)
    }

    /// Whether a later run can go on from what is written.
    pub const fn can_go_on(&self) -> bool {
        matches!(self.to, Destination::File(_))
    }

    /// How many bytes of a torn last line were cut off.
    pub const fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Writes outcomes that came home together, each of a document with that content.
    ///
    /// # Errors
    ///
    /// If not all could be written; of what was written, a line that is not whole is cut off again where that is possible.
    pub fn append<'a>(
        &mut self,
        outcomes: impl IntoIterator<Item = (&'a Outcome, Option<Fingerprint>)>,
    ) -> io::Result<()> {
        let lines = outcomes.into_iter().map(|(outcome, document)| line(outcome, document) + "\n").collect::<String>();
        match &mut self.to {
            _ if lines.is_empty() => Ok(()),
            Destination::Stdout => io::stdout().lock().write_all(lines.as_bytes()),
            Destination::Stream(stream) => stream.write_all(lines.as_bytes()),
            Destination::File(file) => {
                write_lines(file, lines.as_bytes())?;
                self.unsafe_since.get_or_insert_with(Instant::now);
                Ok(())
            }
        }
    }

    /// Makes sure that what was written survives the machine, at most once a second, without waiting for it.
    ///
    /// # Errors
    ///
    /// If the machine could not promise that for what was written before.
    pub fn sync_now_and_then(&mut self) -> io::Result<()> {
        if self.syncing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.finish_syncing()?;
        }
        let is_due = self.unsafe_since.is_some_and(|since| since.elapsed() >= SYNC_EVERY);
        if let Destination::File(file) = &self.to
            && is_due
            && self.syncing.is_none()
        {
            let file = file.try_clone()?;
            self.syncing = Some(thread::spawn(move || file.sync_data()));
            self.unsafe_since = None;
        }
        Ok(())
    }

    /// Makes sure that what was written survives the machine.
    ///
    /// # Errors
    ///
    /// If the machine cannot promise that.
    pub fn sync(&mut self) -> io::Result<()> {
        self.finish_syncing()?;
        self.unsafe_since = None;
        match &self.to {
            Destination::Stdout => io::stdout().lock().flush(),
            // The kernel has it.
            Destination::Stream(_) => Ok(()),
            Destination::File(file) => file.sync_data(),
        }
    }

    fn finish_syncing(&mut self) -> io::Result<()> {
        match self.syncing.take().map(JoinHandle::join) {
            Some(Ok(synced)) => synced.inspect(|()| trace!("the journal is safe")),
            Some(Err(_)) => Err(io::Error::other("the thread that synchronizes the file broke down")),
            None => Ok(()),
        }
    }

    fn recover(&mut self, path: &Path) -> Result<(), JournalError> {
        let Destination::File(file) = &mut self.to else { return Ok(()) };
        let Recovered { history, whole, torn, is_open } = read(file, path)?;
        let mended = match torn {
            0 if is_open => file.write_all(b"\n"),
            0 => Ok(()),
            _ => file.set_len(whole),
        };
        mended.map_err(|source| JournalError::Unusable { path: path.into(), source })?;
        (self.history, self.torn_bytes) = (Arc::new(history), torn);
        Ok(())
    }
}

/// Writes lines at the end of the file, so many of them as there is room for.
fn write_lines(file: &mut File, lines: &[u8]) -> io::Result<()> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut written = 0;
    while written < lines.len() {
        match file.write(&lines[written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => written += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let whole = memrchr(b'\n', &lines[..written]).map_or(0, |at| at + 1);
                let _ = file.set_len(end + whole as u64);
                return Err(error);
            }
        }
    }
    Ok(())
}

const SYNC_EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Document;
    use crate::documents::ChatFingerprint;
    use crate::outcomes::Before;

    #[test]
    fn a_torn_last_line_is_cut_off_and_what_was_answered_is_known() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let good = "{\"custom_id\":\"a\",\"response\":{\"status_code\":200},\"error\":null}\n";
        let failed = "{\"custom_id\":\"b\",\"response\":{\"status_code\":400},\"error\":{\"code\":\"rejected\"}}\n";
        std::fs::write(&path, format!("{good}{failed}{{\"custom_id\":\"c\",\"resp")).unwrap();
        let journal = Journal::open(&path).unwrap();
        let before = ["a", "b", "c"]
            .map(|id| journal.history().before(&Document::text(id, "").into(), ChatFingerprint::default()));
        assert_eq!(before, [Before::Answered, Before::Failed, Before::Never]);
        assert_eq!(journal.torn_bytes(), 22);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{good}{failed}"));
        let error = Journal::open(&path).unwrap_err();
        let JournalError::Locked { holder, .. } = error else { panic!("{error}") };
        assert!(holder.is_none_or(|pid| pid == std::process::id()), "{holder:?}");
    }

    #[test]
    fn a_last_line_that_lacks_only_its_end_is_kept() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let whole = "{\"custom_id\":\"a\",\"response\":{\"status_code\":200},\"error\":null}";
        std::fs::write(&path, whole).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!((journal.history().len(), journal.torn_bytes()), (1, 0));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{whole}\n"));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_a_stream() {
        assert!(!Journal::open(Path::new("/dev/null")).unwrap().can_go_on());
    }

    #[test]
    fn an_input_is_no_file_of_results() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let input = "{\"custom_id\":\"a\",\"body\":{\"model\":\"m\"}}\n";
        std::fs::write(&path, input).unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::Foreign { line: 1, .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), input);
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, "my thesis\n").unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::Foreign { line: 1, .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my thesis\n");
    }
}
