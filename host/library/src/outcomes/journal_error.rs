//! Why an output file cannot be used.

use std::io;
use std::path::PathBuf;

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
    #[error("{path} is in use by another becalm process{}", holder.map(|pid| format!(" ({pid})")).unwrap_or_default())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The process, where the system tells.
        holder: Option<u32>,
    },
    /// It holds something else than results; it is left as it is.
    #[error("{path}, line {line}: this is no line of results, so the file is left alone")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
    },
}
