//! `becalm report`: one page, complete in itself, of what a batch did: from its results and, where there is one, its event
//! log.

use std::fs::File;
use std::io::{BufReader, IsTerminal, Write, stdout};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use same_file::is_same_file;

use crate::exit::Exit;
use crate::report::page::page;
use crate::report::results::Results;
use crate::report::timeline::Timeline;

/// Make a page of what a batch did: timeline, waits, failures.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// The results that a run wrote
    results: PathBuf,
    /// The event log of the same runs
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Where the page goes; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn report(args: &Args) -> Result<Exit> {
    if args.output.is_none() && stdout().is_terminal() {
        bail!("a page is nothing to read in a terminal\nhint: name a file for it, such as -o report.html");
    }
    let inputs = [Some(&args.results), args.events.as_ref()].into_iter().flatten();
    if let Some(output) = &args.output
        && inputs.into_iter().any(|input| is_same_file(input, output).unwrap_or(false))
    {
        bail!("{} holds what the page is made of\nhint: name another file with -o", output.display());
    }
    let open = |path: &PathBuf| File::open(path).with_context(|| format!("cannot read {}", path.display()));
    let results = Results::read(BufReader::new(open(&args.results)?))
        .with_context(|| format!("{} holds no results", args.results.display()))?;
    let timeline = match &args.events {
        None => Timeline::default(),
        Some(path) => Timeline::read(BufReader::new(open(path)?))
            .with_context(|| format!("{} holds no events", path.display()))?,
    };
    let title = args.results.file_name().unwrap_or(args.results.as_os_str()).to_string_lossy().into_owned();
    let page = page(&title, &results, &timeline);
    match &args.output {
        None => stdout().write_all(page.as_bytes())?,
        Some(path) => std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?,
    }
    Ok(Exit::Done)
}

const MORE: &str = "\
One HTML file that needs no network: a timeline of all documents, requests per window against the limit, waits, \
failures by reason. All but the last need the event log of the run.

Examples:
  becalm run contracts --model some-model -o results.jsonl --events events.jsonl
  becalm report results.jsonl --events events.jsonl -o report.html";
