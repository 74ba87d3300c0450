//! How a command ends.

use std::process::ExitCode;

/// Exit codes, the same for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All answered.
    Done = 0,
    /// Some documents failed.
    SomeFailed = 1,
    /// Usage, settings or input; nothing was sent.
    Usage = 2,
    /// Postponed or interrupted; a rerun goes on.
    Unfinished = 3,
    /// Stopped early because every request would fail.
    Halted = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error that came after requests were sent.
#[derive(Debug, thiserror::Error)]
#[error("the batch was broken off")]
pub(crate) struct BrokenOff(#[source] pub(crate) anyhow::Error);
