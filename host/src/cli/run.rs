//! `becalm run`: the main job.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use becalm::documents::{Fingerprint, Inputs};
use becalm::outcomes::{Before, Figures, Journal, bound};
use becalm::{Access, Document, Event, Happening, Limit, Metered, Pool, Rate, Sandbox, Settings, Status, Unit};

use super::drive::{Stop, Watcher, drive};
use super::exit::{BrokenOff, Exit};
use super::json;
use super::progress::Progress;
use super::summary::Summary;
use super::values::{milliseconds, rate, span};

/// Send a batch of documents and bring every one home.
///
/// The key is taken from OPENAI_API_KEY. A run that was broken off goes on when it is started again with the same output
/// file: what was answered is not sent again, what failed or is missing is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Text files, folders, JSONL files of {"id","text"} or in OpenAI Batch form, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Where the endpoint is, up to and without /chat/completions
    #[arg(long, env = "OPENAI_BASE_URL", value_name = "URL")]
    base_url: String,
    /// The model, as the endpoint calls it; needed unless every document is a whole request
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Append one line per document here, and go on from it; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Send what is missing or was put off, but not what failed before
    #[arg(long)]
    only_missing: bool,
    /// Send a document again whose content changed since it was answered
    #[arg(long)]
    force: bool,
    /// After Ctrl-C or SIGTERM, how long requests on the wire may take to end
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    grace: Duration,
    /// System message [default: You are a document analyst.]
    #[arg(long, value_name = "TEXT", help_heading = "Prompt")]
    system: Option<String>,
    /// User message; {text} stands for the document [default: Analyze this document: {text}]
    #[arg(long, value_name = "TEMPLATE", help_heading = "Prompt")]
    prompt: Option<String>,
    /// Most tokens of an answer [default: 512]
    #[arg(long, value_name = "N", help_heading = "Prompt")]
    max_tokens: Option<u32>,
    /// Requests on the wire at one time [default: 8]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_in_flight: Option<u32>,
    /// A limit that is known, such as 10/60s, or 40000tokens/60s: learnt if absent; all hold if repeated
    #[arg(long, value_name = "N/SPAN", value_parser = rate, help_heading = "Limits")]
    limit: Vec<Rate>,
    /// The same, per minute
    #[arg(long, value_name = "N", help_heading = "Limits")]
    rpm: Option<u64>,
    /// Least time between two requests [default: 0]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Limits")]
    pace: Option<Duration>,
    /// Spread on top of a wait that the endpoint asked for [default: 2s]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    jitter: Option<Duration>,
    /// Tries of one document that may fail, the first included; refusals do not count [default: 5]
    #[arg(long, value_name = "N", help_heading = "Retries")]
    max_attempts: Option<u32>,
    /// Longest wait for the next request; what would wait longer is postponed [default: 1h]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    patience: Option<Duration>,
    /// Fixed wait after a refusal without a hint [default: back-off]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    fallback_wait: Option<Duration>,
    /// Seed of jitter and back-off, for repeatable runs
    #[arg(long, value_name = "N", help_heading = "Retries")]
    seed: Option<u64>,
    /// Events and figures as JSON, a line each, on standard error
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args) -> Result<Exit> {
    let inputs = Inputs::scan(&args.inputs, std::io::stdin())?;
    if inputs.has_texts() && args.model.is_none() {
        bail!("no model is named\nhint: name it with --model, as the endpoint calls it");
    }
    for warning in inputs.warnings() {
        eprintln!("warning: {warning}");
    }
    let sandbox = Sandbox::new()?;
    let settings = args.settings(sandbox.default_settings().await?);
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let sender = Metered::new(Pool::new(&settings.timeouts)?);
    let mut session = sandbox.open(settings.clone(), access, Arc::clone(&sender) as _).await?;
    // The last thing that can go wrong before anything is sent: until here no file was touched.
    let mut batch = Batch::new(args, &inputs)?;

    let started = Instant::now();
    let past = batch.journal.past();
    let documents =
        inputs.documents().filter(|document| !document.as_ref().is_ok_and(|known| args.skips(past.before(known))));
    let driven = drive(&mut session, documents, &Stop::on_signals(args.grace)?, &mut batch).await;
    batch.progress.finish();
    batch.journal.sync().context("cannot write the results").map_err(BrokenOff)?;
    driven.map_err(BrokenOff)?;

    let limits = session.status().await?.limits;
    let rates = limits.iter().map(|limit| limit.rate).collect::<Vec<_>>();
    let bound = bound(batch.figures.answered, &rates, settings.limits.max_in_flight, sender.latency());
    Ok(batch.end(started.elapsed(), bound, &limits))
}

impl Args {
    /// Whether a document that fared so before is not sent.
    const fn skips(&self, before: Before) -> bool {
        match before {
            Before::Never => false,
            Before::Answered => true,
            Before::Changed => !self.force,
            Before::Failed => self.only_missing,
        }
    }

    /// The component's defaults, and what was set instead.
    fn settings(&self, defaults: Settings) -> Settings {
        let mut settings = defaults;
        settings.endpoint.base_url.clone_from(&self.base_url);
        set(&mut settings.chat.model, self.model.clone());
        set(&mut settings.chat.system_prompt, self.system.clone().map(Some));
        set(&mut settings.chat.prompt_template, self.prompt.clone());
        set(&mut settings.chat.max_tokens, self.max_tokens.map(Some));
        set(&mut settings.limits.max_in_flight, self.max_in_flight);
        let rpm = self.rpm.map(|amount| Rate { unit: Unit::Requests, amount, window: 60_000 });
        settings.limits.rates = self.limit.iter().copied().chain(rpm).collect();
        set(&mut settings.limits.pace, self.pace.map(milliseconds));
        set(&mut settings.retry.jitter, self.jitter.map(milliseconds));
        set(&mut settings.retry.max_attempts, self.max_attempts);
        set(&mut settings.retry.patience, self.patience.map(milliseconds));
        settings.retry.fallback_wait = self.fallback_wait.map(milliseconds);
        settings.seed = self.seed;
        settings
    }
}

fn set<Value>(field: &mut Value, value: Option<Value>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// A batch on its way to the journal.
struct Batch {
    journal: Journal,
    figures: Figures,
    progress: Progress,
    is_json: bool,
    count: u64,
    /// Answered by an earlier run.
    skipped: u64,
    /// Failed in an earlier run, and left at that.
    given_up: u64,
    /// What the documents contain that have no outcome yet.
    contents: HashMap<String, Fingerprint>,
}

impl Batch {
    fn new(args: &Args, inputs: &Inputs) -> Result<Self> {
        let journal = args.output.as_deref().map_or_else(|| Ok(Journal::stdout()), Journal::open)?;
        if journal.torn_bytes() > 0 {
            eprintln!(
                "warning: the last line of the results was torn; its {} bytes were cut off",
                journal.torn_bytes()
            );
        }
        let past = journal.past();
        let (mut skipped, mut given_up, mut changed) = (0, 0, vec![]);
        // Without a past there is nothing to compare the input with, and it need not be read once more.
        let known = (!past.is_empty()).then(|| inputs.documents().flatten());
        for document in known.into_iter().flatten() {
            let before = past.before(&document);
            match before {
                Before::Failed => given_up += u64::from(args.skips(before)),
                Before::Never | Before::Answered | Before::Changed => skipped += u64::from(args.skips(before)),
            }
            if before == Before::Changed {
                changed.push(document.id);
            }
        }
        if let Some(first) = changed.first() {
            let count = changed.len();
            let advice = if args.force { "sent again" } else { "not sent again; --force sends them" };
            eprintln!("warning: {count} answered documents have changed since, such as {first}: {advice}");
        }
        let progress = if args.json { Progress::hidden() } else { Progress::new(inputs.count(), skipped + given_up) };
        Ok(Self {
            journal,
            figures: Figures::default(),
            progress,
            is_json: args.json,
            count: inputs.count(),
            skipped,
            given_up,
            contents: HashMap::new(),
        })
    }

    /// Says what it came to.
    fn end(&self, elapsed: Duration, bound: Duration, limits: &[Limit]) -> Exit {
        let figures = &self.figures;
        let left = self.count - self.skipped - self.given_up - figures.answered - figures.failed - figures.postponed;
        let summary = Summary { figures, elapsed, bound, limits, skipped: self.skipped, given_up: self.given_up, left };
        if self.is_json {
            eprintln!("{}", json::summary(&summary));
        } else {
            summary.lines().iter().for_each(|line| eprintln!("{line}"));
        }
        match figures {
            Figures { halted: Some(_), .. } => Exit::Halted,
            Figures { postponed, .. } if postponed + left > 0 => Exit::Unfinished,
            Figures { failed, .. } if failed + self.given_up > 0 => Exit::SomeFailed,
            _ => Exit::Done,
        }
    }
}

impl Watcher for Batch {
    fn submitting(&mut self, documents: &[Document]) {
        self.contents.extend(documents.iter().map(|document| (document.id.clone(), Fingerprint::of(document))));
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        self.figures.add(event);
        if self.is_json {
            eprintln!("{}", json::event(event));
        }
        match &event.what {
            Happening::Outcome(outcome) => {
                self.progress.step();
                let content = self.contents.remove(&outcome.id);
                self.journal.append(outcome, content).context("cannot write the results")?;
            }
            Happening::HintIgnored(ignored) if !self.is_json => {
                self.progress
                    .say(&format!("warning: {}: {:?} cannot be read and is ignored", ignored.name, ignored.value));
            }
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self, status: &Status) -> Result<()> {
        self.progress.show(status);
        self.journal.sync_now_and_then().context("cannot write the results")
    }
}
