//! What a run says: to a person, to a machine, into an event log.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use becalm::outcomes::Spending;
use becalm::{Event, Fault, Happening, IgnoredHint, Limit, Refusal, Status};
use clap::ArgAction;
use serde_json::Value;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::json;
use super::masked;
use super::progress::{Progress, reason};
use super::say::{aside, in_one_line, machine};
use super::summary::believed;
use super::values::{admits_in_words, in_words, local_time};

/// How much is said, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Watching")]
pub(crate) struct Args {
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say every refusal with its headers, and every fault; twice: every step
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
    /// Events and figures as JSON, a line each, on standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Append all events to this file, for `becalm report`
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
}

impl Args {
    /// Whether every request is of interest.
    pub(crate) const fn wants_requests(&self) -> bool {
        self.events.is_some() || self.json
    }

    /// Lets the steps of library and sandbox be seen.
    pub(crate) fn trace(&self) {
        if self.verbose > 1 {
            let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
            let ours = Targets::new().with_target("becalm", Level::TRACE);
            // It fails only if there is one already.
            let _ = tracing_subscriber::registry().with(lines).with(ours).try_init();
        }
    }
}

/// Says it.
pub(crate) struct Voice {
    progress: Progress,
    is_quiet: bool,
    is_verbose: bool,
    is_json: bool,
    log: Option<BufWriter<File>>,
}

impl Voice {
    /// For so many documents, of which some are done already.
    pub(crate) fn new(args: &Args, count: u64, done: u64) -> Result<Self> {
        let progress = match args.verbose {
            _ if args.quiet || args.json => Progress::hidden(),
            0 | 1 => Progress::new(count, done),
            _ => Progress::plain(count, done),
        };
        let log = args.events.as_deref().map(open).transpose()?;
        Ok(Self {
            progress,
            is_quiet: args.quiet,
            is_verbose: args.verbose > 0,
            is_json: args.json && !args.quiet,
            log,
        })
    }

    /// Where it goes.
    pub(crate) fn begin(&self, line: &str) {
        if !self.is_quiet && !self.is_json {
            self.progress.say(line);
        }
    }

    /// Something that is odd.
    pub(crate) fn warn(&mut self, warning: &str) {
        if !self.is_quiet && !self.is_json {
            self.progress.say(&format!("warning: {warning}"));
        }
        self.note(&json::warning(warning));
    }

    /// Something for machines alone, such as the beginning.
    pub(crate) fn note(&mut self, value: &Value) {
        if self.is_json {
            machine(value);
        }
        let written = self.log.as_mut().map_or(Ok(()), |log| writeln!(log, "{value}"));
        self.keep_log_if(written);
    }

    pub(crate) fn event(&mut self, event: &Event) {
        if self.is_json || self.log.is_some() {
            self.note(&json::event(event));
        }
        if matches!(event.what, Happening::Outcome(_)) {
            self.progress.step();
        }
        if !self.is_json && !self.is_quiet {
            self.say(event);
        }
    }

    /// A moment has passed.
    pub(crate) fn tick(&mut self, status: &Status, spending: &Spending) {
        self.progress.show(status, spending);
        self.flush();
    }

    /// Nothing more is to come but a summary.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    /// What it came to: for machines, and in lines for people.
    pub(crate) fn sum_up(&mut self, summary: &Value, lines: &[String]) {
        self.note(summary);
        self.flush();
        if !self.is_json && !self.is_quiet {
            lines.iter().for_each(aside);
        }
    }

    fn flush(&mut self) {
        let flushed = self.log.as_mut().map_or(Ok(()), Write::flush);
        self.keep_log_if(flushed);
    }

    /// A log that cannot be written any more ends; the batch does not.
    fn keep_log_if(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            // What is buffered would be written once more when it is dropped.
            drop(self.log.take().map(BufWriter::into_parts));
            self.warn(&format!("cannot write the events, which end here: {error}"));
        }
    }

    fn say(&self, event: &Event) {
        let lines = match &event.what {
            Happening::HintIgnored(ignored) => {
                let IgnoredHint { name, value } = ignored;
                return self.progress.say(&format!("warning: {name}: {value:?} cannot be read and is ignored"));
            }
            Happening::Refused(refusal) => refused(refusal),
            Happening::Faulted(fault) => vec![faulted(fault)],
            Happening::Learnt(limit) => vec![learnt(limit)],
            Happening::Paused(pause) => {
                let until = local_time(pause.until, "%H:%M:%S").unwrap_or_default();
                vec![format!("nothing is sent until {until}: {}", reason(pause))]
            }
            _ => return,
        };
        if self.is_verbose {
            let clock = local_time(event.at, "%H:%M:%S").unwrap_or_default();
            self.progress.say(&format!("{clock} {}", lines.join("\n")));
        }
    }
}

/// The diagnosis that is missing where a client only says "rate limited": what the endpoint said, field by field.
fn refused(refusal: &Refusal) -> Vec<String> {
    let wait = in_words(Duration::from_millis(refusal.wait));
    let jitter = in_words(Duration::from_millis(refusal.jitter));
    let first = format!(
        "refused {}: HTTP {}, waiting {wait} ({}, jitter {jitter})",
        refusal.id, refusal.status, refusal.source
    );
    let says = (!refusal.message.is_empty()).then(|| format!("  says: {}", in_one_line(&refusal.message)));
    let headers = refusal.headers.iter().map(|header| masked::line(&header.name, header.value.as_bytes()));
    [first].into_iter().chain(says).chain(headers).collect()
}

fn learnt(limit: &Limit) -> String {
    believed(limit).unwrap_or_else(|| format!("learnt a limit: {}", admits_in_words(&limit.admits)))
}

fn faulted(fault: &Fault) -> String {
    let wait = in_words(Duration::from_millis(fault.wait));
    format!("fault {}: {}, again in {wait} ({})", fault.id, in_one_line(&fault.message), fault.source)
}

/// A log that a killed run left in the middle of a line goes on with the next.
fn open(path: &Path) -> Result<BufWriter<File>> {
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
    opened.with_context(|| format!("cannot write events to {}", path.display()))
}
