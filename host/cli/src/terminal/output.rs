//! Lines to people and programs. Whoever does not listen any more is no reason to lose what was paid for.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};

use anyhow::{Context, Result};

use crate::terminal::escapes::printable;

/// A line for people, on standard error.
pub(crate) fn aside(line: impl Display) {
    let _ = writeln!(stderr(), "{}", printable(&line.to_string()));
}

/// A line for programs, on standard error.
pub(crate) fn machine(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// A line of data on standard output.
pub(crate) fn data(line: impl Display) -> Result<()> {
    match writeln!(stdout(), "{line}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}
