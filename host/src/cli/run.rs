//! `becalm run`: the main job.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use becalm::documents::{Fingerprint, Inputs};
use becalm::outcomes::{Figures, Journal, Spending, bound};
use becalm::{Access, Document, Event, Happening, Limit, Metered, Pool, Sandbox, Settings, Status};

use super::args::{self, Earlier};
use super::drive::{MOMENT, Watcher, drive};
use super::exit::{BrokenOff, Exit};
use super::json;
use super::plan::{self, Assumed};
use super::progress::Progress;
use super::stop::{Reason, Stop};
use super::summary::Summary;
use super::values::span;

/// Send a batch of documents and bring every one home.
///
/// The key is taken from OPENAI_API_KEY. A run that was broken off goes on when it is started again with the same output
/// file: what was answered is not sent again, what failed or is missing is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    batch: args::Batch,
    /// After Ctrl-C or SIGTERM, how long requests on the wire may take to end
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    grace: Duration,
    /// Send nothing; foretell how the run goes, as `becalm plan` does
    #[arg(long)]
    dry_run: bool,
    /// Events and figures as JSON, a line each, on standard error
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) const fn is_dry(&self) -> bool {
        self.dry_run
    }
}

pub(crate) fn dry_run(args: &Args) -> Result<Exit> {
    plan::foretell(&args.batch, &Assumed::default(), args.json)
}

pub(crate) async fn run(args: &Args) -> Result<Exit> {
    let Some(base_url) = &args.batch.base_url else {
        bail!(
            "no endpoint is named\nhint: name it with --base-url or OPENAI_BASE_URL, such as https://api.example.com/v1"
        );
    };
    let inputs = args.batch.scan()?;
    let sandbox = Sandbox::new()?;
    let settings = args.batch.settings(sandbox.default_settings().await?, base_url);
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let sender = Metered::new(Pool::new(&settings.timeouts)?);
    let mut session = sandbox.open(settings.clone(), access, Arc::clone(&sender) as _).await?;
    // The last thing that can go wrong before anything is sent: until here no file was touched.
    let mut batch = Batch::new(args, &inputs, &settings)?;

    let started = Instant::now();
    let past = batch.journal.past();
    let rows = args.batch.rows(&inputs, &past);
    let stop = Stop::on_signals(args.grace)?.with_deadline(args.batch.deadline);
    let driven = drive(&mut session, rows, &stop, MOMENT, &mut batch).await;
    batch.progress.finish();
    batch.journal.sync().context("cannot write the results").map_err(BrokenOff)?;
    let stopped = driven.map_err(BrokenOff)?;

    let limits = session.status().await?.limits;
    let rates = limits.iter().map(|limit| limit.rate).collect::<Vec<_>>();
    let bound = bound(batch.figures.answered, &rates, settings.limits.max_in_flight, sender.latency());
    Ok(batch.end(started.elapsed(), bound, &limits, stopped))
}

/// A batch on its way to the journal.
struct Batch {
    journal: Journal,
    figures: Figures,
    progress: Progress,
    is_json: bool,
    count: u64,
    earlier: Earlier,
    spending: Spending,
    /// What the documents contain that have no outcome yet.
    contents: HashMap<String, Fingerprint>,
}

impl Batch {
    fn new(args: &Args, inputs: &Inputs, settings: &Settings) -> Result<Self> {
        let spending = args.batch.spending(settings)?;
        let journal = args.batch.output.as_deref().map_or_else(|| Ok(Journal::stdout()), Journal::open)?;
        if journal.torn_bytes() > 0 {
            eprintln!(
                "warning: the last line of the results was torn; its {} bytes were cut off",
                journal.torn_bytes()
            );
        }
        let earlier = args.batch.earlier(inputs, &journal.past());
        let done = earlier.answered + earlier.failed;
        let progress = if args.json { Progress::hidden() } else { Progress::new(inputs.count(), done) };
        Ok(Self {
            journal,
            figures: Figures::default(),
            progress,
            is_json: args.json,
            count: inputs.count(),
            earlier,
            spending,
            contents: HashMap::new(),
        })
    }

    /// Says what it came to.
    fn end(&self, elapsed: Duration, bound: Duration, limits: &[Limit], stopped: Option<Reason>) -> Exit {
        let Self { figures, earlier, spending, .. } = self;
        let ended = earlier.answered + earlier.failed + figures.answered + figures.failed + figures.postponed;
        let left = self.count - ended;
        let summary = Summary { figures, earlier, spending, elapsed, bound, limits, left, stopped };
        if self.is_json {
            eprintln!("{}", json::summary(&summary));
        } else {
            summary.lines().iter().for_each(|line| eprintln!("{line}"));
        }
        match figures {
            Figures { halted: Some(_), .. } => Exit::Halted,
            Figures { postponed, .. } if postponed + left > 0 => Exit::Unfinished,
            Figures { failed, .. } if failed + earlier.failed > 0 => Exit::SomeFailed,
            _ => Exit::Done,
        }
    }
}

impl Watcher for Batch {
    fn admits(&mut self, document: &Document) -> bool {
        self.spending.admits(document)
    }

    fn submitting(&mut self, document: &Document) {
        self.spending.open(document);
        self.contents.insert(document.id.clone(), Fingerprint::of(document));
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        self.figures.add(event);
        self.spending.add(event);
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

    fn objection(&self) -> Option<Reason> {
        self.spending.is_at_risk().then_some(Reason::Budget)
    }
}
