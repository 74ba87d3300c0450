//! What a run says: to a person, to a program, into an event log.

use std::io;
use std::time::Duration;

use anyhow::Result;
use becalm::outcomes::Spending;
use becalm::{Event, Fault, Happening, IgnoredHint, Limit, Refusal, Status};
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::events::line::EventLine;
use crate::events::log_file::LogFile;
use crate::events::write;
use crate::flags::watching::WatchingFlags;
use crate::terminal::escapes::in_one_line;
use crate::terminal::header_mask;
use crate::terminal::output::{aside, machine};
use crate::terminal::progress::{Progress, reason};
use crate::terminal::summary::believed;
use crate::terminal::words::{admits_in_words, in_words, local_time};

/// Says it.
pub(crate) struct Reporter {
    progress: Progress,
    is_quiet: bool,
    is_verbose: bool,
    is_json: bool,
    log: LogFile,
}

impl Reporter {
    /// For so many documents, of which some are done already.
    pub(crate) fn new(flags: &WatchingFlags, count: u64, done: u64) -> Result<Self> {
        let progress = match flags.verbose {
            _ if flags.quiet || flags.json => Progress::hidden(),
            0 | 1 => Progress::new(count, done),
            _ => Progress::plain(count, done),
        };
        Ok(Self {
            progress,
            is_quiet: flags.quiet,
            is_verbose: flags.verbose > 0,
            is_json: flags.json && !flags.quiet,
            log: flags.events.as_deref().map_or_else(|| Ok(LogFile::none()), LogFile::open)?,
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
        self.note(&write::warning(warning));
    }

    /// Something for programs alone, such as the beginning.
    pub(crate) fn note(&mut self, line: &EventLine) {
        if !self.is_json && !self.log.is_open() {
            return;
        }
        let line = serde_json::to_string(line).unwrap_or_default();
        if self.is_json {
            machine(&line);
        }
        let written = self.log.append(&line);
        self.warn_of(written);
    }

    pub(crate) fn event(&mut self, event: &Event) {
        if self.is_json || self.log.is_open() {
            self.note(&write::event(event));
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
        let flushed = self.log.flush();
        self.warn_of(flushed);
    }

    /// Nothing more is to come but a summary.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    /// What it came to: for programs, and in lines for people.
    pub(crate) fn sum_up(&mut self, summary: &EventLine, lines: &[String]) {
        self.note(summary);
        let flushed = self.log.flush();
        self.warn_of(flushed);
        if !self.is_json && !self.is_quiet {
            lines.iter().for_each(aside);
        }
    }

    fn warn_of(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
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
    let headers = refusal.headers.iter().map(|header| header_mask::line(&header.name, header.value.as_bytes()));
    [first].into_iter().chain(says).chain(headers).collect()
}

fn learnt(limit: &Limit) -> String {
    believed(limit).unwrap_or_else(|| format!("learnt a limit: {}", admits_in_words(&limit.admits)))
}

fn faulted(fault: &Fault) -> String {
    let wait = in_words(Duration::from_millis(fault.wait));
    format!("fault {}: {}, again in {wait} ({})", fault.id, in_one_line(&fault.message), fault.source)
}

/// Lets the steps of library and sandbox be seen.
pub(crate) fn trace() {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let ours = Targets::new().with_target("becalm", Level::TRACE);
    // It fails only if there is one already.
    let _ = tracing_subscriber::registry().with(lines).with(ours).try_init();
}
