//! The event log: appended to, a line each. A log that cannot be written any more ends; the batch does not.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// A log that is written.
pub(crate) struct LogFile(Option<BufWriter<File>>);

impl LogFile {
    /// No log.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// Opens or makes it. One that a killed run left in the middle of a line goes on with the next.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let opened = OpenOptions::new().read(true).append(true).create(true).open(path).and_then(|mut file| {
            let mut last = [b'\n'];
            if file.seek(SeekFrom::End(0))? > 0 {
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
            }
            if last != [b'\n'] {
                file.write_all(b"\n")?;
            }
            Ok(BufWriter::new(file))
        });
        let opened = opened.with_context(|| format!("cannot write events to {}", path.display()))?;
        Ok(Self(Some(opened)))
    }

    /// Whether anybody reads it.
    pub(crate) const fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// A line more. An error is told once: the log has ended with it.
    pub(crate) fn append(&mut self, line: &str) -> io::Result<()> {
        let written = self.0.as_mut().map_or(Ok(()), |log| writeln!(log, "{line}"));
        self.end_if(written)
    }

    /// What was appended can be read by others.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.0.as_mut().map_or(Ok(()), Write::flush);
        self.end_if(flushed)
    }

    fn end_if(&mut self, written: io::Result<()>) -> io::Result<()> {
        written.inspect_err(|_| {
            // What is buffered would be written once more when it is dropped.
            drop(self.0.take().map(BufWriter::into_parts));
        })
    }
}
