//! Standard input and pipes, kept so that they can be read twice: in a file that has no name, so that nobody else finds it and
//! nothing is left of it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

/// What was kept.
#[derive(Clone, Debug)]
pub(super) struct Spool(Arc<File>);

/// Reads it from its beginning, whoever else does at the same time.
#[derive(Debug)]
pub(super) struct SpoolReader {
    file: Arc<File>,
    at: u64,
}

impl Spool {
    /// Keeps all of it.
    pub(super) fn of(mut pipe: impl Read) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut pipe, &mut file)?;
        Ok(Self(Arc::new(file)))
    }

    pub(super) fn reader(&self) -> SpoolReader {
        SpoolReader { file: Arc::clone(&self.0), at: 0 }
    }
}

impl Read for SpoolReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, bytes, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
