//! `becalm plan`: the batch in virtual time. The same component with the same settings, on a server model that enforces the
//! limit; hours pass in a moment. No network, no key, no file is touched.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use becalm::documents::{Asked, Inputs};
use becalm::outcomes::{Figures, Past, Spending, bound};
use becalm::server::{InProcess, Kind, Model, Server, Spread};
use becalm::{Access, Clock, Document, Event, FailureKind, Happening, Rate, Settings, Status, Unit, Verdict};
use jiff::Timestamp;
use tokio::time::Instant;

use super::args::{self, Earlier};
use super::drive::{Watcher, drive};
use super::exit::Exit;
use super::forecast::Forecast;
use super::progress::Progress;
use super::sandbox::sandbox;
use super::say::{aside, data};
use super::stop::{Reason, Stop};
use super::values::{rate, spread};

/// Foretell how a run goes: when it ends, what it waits for, what it takes.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    #[command(flatten)]
    batch: args::Batch,
    #[command(flatten)]
    assumed: Assumed,
    /// As one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// What is assumed of the endpoint.
#[derive(Debug, clap::Args)]
pub(crate) struct Assumed {
    /// The limit that the endpoint enforces where none is given, and that a run has to find out
    #[arg(long, value_name = "N/SPAN", value_parser = rate, default_value = USUAL_LIMIT, help_heading = "Forecast")]
    assume_limit: Rate,
    /// How long an answer takes, 1s, or 2s..20s to vary
    #[arg(long, value_name = "SPAN", value_parser = spread, default_value = USUAL_LATENCY, help_heading = "Forecast")]
    latency: Spread,
}

/// Runs it in a runtime of its own, whose time is virtual.
pub(crate) fn plan(args: &Args) -> Result<Exit> {
    foretell(&args.batch, &args.assumed, args.json)
}

/// The same for `becalm run --dry-run`.
pub(crate) fn foretell(batch: &args::Batch, assumed: &Assumed, is_json: bool) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let forecast = runtime.context("cannot set up virtual time")?.block_on(forecast(batch, assumed))?;
    if is_json {
        data(forecast.json())?;
    } else {
        forecast.lines().iter().try_for_each(data)?;
    }
    Ok(Exit::Done)
}

async fn forecast(batch: &args::Batch, assumed: &Assumed) -> Result<Forecast> {
    let inputs = batch.scan(None)?;
    let now = Timestamp::now();
    let epoch = Duration::try_from(now.duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default();
    let sandbox = sandbox()?.in_time(Clock::Virtual(epoch));
    let settings = batch.settings(sandbox.default_settings().await?, BASE_URL);
    let settings = Settings { seed: Some(settings.seed.unwrap_or(SEED)), ..settings };
    let past = Arc::new(batch.output.as_deref().map_or_else(|| Ok(Past::default()), becalm::outcomes::past)?);
    let given = settings.limits.rates.clone();
    let (is_assumed, asked) = (given.is_empty(), Asked::of(&settings.chat));
    let rates = if is_assumed { vec![assumed.assume_limit] } else { given };
    let server = Arc::new(Server::new(model(&rates, assumed.latency)));
    let access = Access::new(BASE_URL, None)?;
    let mut session = sandbox.open(settings.clone(), access, Arc::new(InProcess(Arc::clone(&server)))).await?;
    let mut watch = Watch::new(batch, &inputs, batch.earlier(&inputs, &past, asked), &settings)?;
    let started = Instant::now();
    let stop = Stop::never().with_deadline(batch.deadline);
    // Only a deadline has to be looked at in between.
    let moment = batch.deadline.map_or(LONG, |deadline| (deadline / 100).max(Duration::from_millis(1)));
    let stopped = drive(&mut session, batch.rows(&inputs, &past, asked), &stop, moment, &mut watch).await;
    watch.progress.finish();
    let elapsed = started.elapsed();
    let latency = (assumed.latency.least + assumed.latency.most) / 2;
    Ok(Forecast {
        stopped: stopped?,
        count: inputs.count(),
        sent: server.stats().sent,
        bound: bound(watch.figures.answered, &rates, settings.limits.max_in_flight, latency),
        is_assumed,
        rates,
        latency: assumed.latency,
        elapsed,
        ends: epoch + elapsed,
        watch,
    })
}

/// An endpoint that enforces these.
fn model(rates: &[Rate], latency: Spread) -> Model {
    // The first limit of requests is the model's own; whatever else there is joins it.
    let first = rates.iter().position(|rate| rate.unit == Unit::Requests);
    let own = first.map_or(Rate { unit: Unit::Requests, amount: u64::MAX / 2, window: 1 }, |first| rates[first]);
    Model {
        limiter: Kind::Rolling,
        requests: own.amount,
        window: Duration::from_millis(own.window),
        also: rates.iter().enumerate().filter(|(n, _)| Some(*n) != first).map(|(_, rate)| *rate).collect(),
        latency,
        full_answers: true,
        ..Model::default()
    }
}

/// Adds up what happens.
pub(crate) struct Watch {
    pub(crate) figures: Figures,
    pub(crate) spending: Spending,
    pub(crate) earlier: Earlier,
    /// Documents that cannot be used.
    pub(crate) unusable: u64,
    pub(crate) pauses: u64,
    pub(crate) paused: Duration,
    progress: Progress,
    paused_at: Option<u64>,
}

impl Watch {
    fn new(batch: &args::Batch, inputs: &Inputs, earlier: Earlier, settings: &Settings) -> Result<Self> {
        for warning in inputs.warnings().iter().cloned().chain(earlier.warning(batch.force)) {
            aside(format_args!("warning: {warning}"));
        }
        Ok(Self {
            figures: Figures::default(),
            spending: batch.spending(settings)?,
            progress: Progress::new(inputs.count(), earlier.answered + earlier.failed),
            earlier,
            unusable: 0,
            pauses: 0,
            paused: Duration::ZERO,
            paused_at: None,
        })
    }

    fn event(&mut self, event: &Event) {
        self.figures.add(event);
        self.spending.add(event);
        match &event.what {
            Happening::Outcome(outcome) => {
                self.progress.step();
                let is_unusable = matches!(&outcome.verdict, Verdict::Failed(failure) if failure.kind == FailureKind::InvalidDocument);
                self.unusable += u64::from(is_unusable);
            }
            Happening::Paused(_) if self.paused_at.is_none() => {
                (self.pauses, self.paused_at) = (self.pauses + 1, Some(event.at));
            }
            Happening::Resumed => {
                let since = self.paused_at.take().unwrap_or(event.at);
                self.paused += Duration::from_millis(event.at.saturating_sub(since));
            }
            _ => {}
        }
    }
}

impl Watcher for Watch {
    fn admits(&mut self, document: &Document) -> bool {
        self.spending.admits(document)
    }

    fn submitting(&mut self, document: &Document) {
        self.spending.open(document);
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        events.iter().for_each(|event| self.event(event));
        Ok(())
    }

    fn tick(&mut self, _status: &Status) -> Result<()> {
        Ok(())
    }

    fn objection(&self) -> Option<Reason> {
        self.spending.is_at_risk().then_some(Reason::Budget)
    }
}

const MORE: &str = "\
The same batch in virtual time, against a model of the endpoint: nothing is sent, no key is needed, no file is \
changed. Takes the flags of becalm run; with -o it leaves out what was answered before. Answers are taken to be as \
long as they may be.

Examples:
  becalm plan contracts --model some-model --limit 10/60s
  becalm plan in.jsonl --model some-model --assume-limit 60/60s --latency 2s..20s
  becalm plan in.jsonl --model some-model --limit 10/60s --price-in 0.15 --price-out 0.6 --budget 5";
const USUAL_LIMIT: &str = "60/60s";
const USUAL_LATENCY: &str = "1s";
/// No request leaves this process.
const BASE_URL: &str = "http://plan.invalid/v1";
/// So that two plans are the same.
const SEED: u64 = 1;
/// Where time is virtual nobody waits for a sign of life.
const LONG: Duration = Duration::from_secs(3_600);
