//! How much a run says, and how, as flags.

use std::path::PathBuf;

use clap::ArgAction;

/// How much is said, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Watching")]
pub(crate) struct WatchingFlags {
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say every refusal with its headers, and every fault; twice: every step
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Events and figures as JSON, a line each, on standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Append all events to this file, for `becalm report`
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
}

impl WatchingFlags {
    /// Whether every request is of interest.
    pub(crate) const fn wants_requests(&self) -> bool {
        self.events.is_some() || self.json
    }
}
