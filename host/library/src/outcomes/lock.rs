//! One process writes to an output file.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::journal_error::JournalError;

/// Locks the file until it is closed.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::Locked { path: path.into(), holder: holder(file) },
        TryLockError::Error(source) => JournalError::Unusable { path: path.into(), source },
    })
}

/// The process that holds the file's lock, where the system tells (Linux).
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    let inode = std::os::unix::fs::MetadataExt::ino(&file.metadata().ok()?);
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
        let fields = line.split_ascii_whitespace().collect::<Vec<_>>();
        let [_, "FLOCK", _, _, pid, file, ..] = fields[..] else { return None };
        let is_it = file.rsplit(':').next()?.parse::<u64>() == Ok(inode);
        pid.parse().ok().filter(|pid| is_it && *pid > 0)
    })
}

#[cfg(not(target_os = "linux"))]
const fn holder(_file: &File) -> Option<u32> {
    None
}
