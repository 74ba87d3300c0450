//! `becalm component`: the embedded component, for other hosts.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use becalm::{COMPONENT, CONTRACT};

use crate::cached_sandbox::sandbox;
use crate::exit::Exit;
use crate::terminal::output::data;

/// Write the embedded component, or say what it imports and exports.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write it here
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the contract that it carries, with what it imports of WASI, as WIT
    #[arg(long)]
    wit: bool,
}

pub(crate) fn component(args: &Args) -> Result<Exit> {
    if let Some(path) = &args.output {
        fs::write(path, COMPONENT).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.wit {
        data(CONTRACT.trim_end())?;
        return Ok(Exit::Done);
    }
    let sandbox = sandbox()?;
    data(format_args!("size     {} KB", COMPONENT.len().div_ceil(1_000)))?;
    for (title, names) in [("imports", sandbox.imports()), ("exports", sandbox.exports())] {
        names.iter().try_for_each(|name| data(format_args!("{title}  {name}")))?;
    }
    Ok(Exit::Done)
}
