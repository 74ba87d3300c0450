//! `becalm plan`: the batch in virtual time. The same component with the same settings, on a server model that enforces the
//! limit; hours pass in a moment. No network, no key, no file is touched.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use becalm::documents::ChatFingerprint;
use becalm::outcomes::{ResultHistory, bound, history};
use becalm::server::{InProcess, Kind, Model, Server, Spread};
use becalm::{Access, Clock, Rate, Settings, Unit};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::batch::earlier::Earlier;
use crate::batch::feeder::feed;
use crate::batch::forecast::Forecast;
use crate::batch::plan_tally::PlanTally;
use crate::batch::stop::Stop;
use crate::cached_sandbox::sandbox;
use crate::exit::Exit;
use crate::flags::batch::BatchFlags;
use crate::flags::forecast::ForecastFlags;
use crate::terminal::output::data;

/// Predict how a run goes: when it ends, what it waits for, what it takes.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    #[command(flatten)]
    batch: BatchFlags,
    #[command(flatten)]
    assumed: ForecastFlags,
    /// As one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs it in a runtime of its own, whose time is virtual.
pub(crate) fn plan(args: &Args) -> Result<Exit> {
    predict(&args.batch, &args.assumed, args.json)
}

/// The same for `becalm run --dry-run`.
pub(crate) fn predict(batch: &BatchFlags, assumed: &ForecastFlags, is_json: bool) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let forecast = runtime.context("cannot set up virtual time")?.block_on(forecast(batch, assumed))?;
    if is_json {
        data(forecast.json())?;
    } else {
        forecast.lines().iter().try_for_each(data)?;
    }
    Ok(Exit::Done)
}

async fn forecast(flags: &BatchFlags, assumed: &ForecastFlags) -> Result<Forecast> {
    let batch = flags.check(BASE_URL, None)?;
    let now = Timestamp::now();
    let epoch = Duration::try_from(now.duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default();
    let sandbox = sandbox()?.in_time(Clock::Virtual(epoch));
    let settings = batch.settings.clone();
    let settings = Settings { seed: Some(settings.seed.unwrap_or(SEED)), ..settings };
    let known = Arc::new(batch.output.as_deref().map_or_else(|| Ok(ResultHistory::default()), history)?);
    let given = settings.limits.rates.clone();
    let (is_assumed, chat) = (given.is_empty(), ChatFingerprint::of(&settings.chat));
    let rates = if is_assumed { vec![assumed.assume_limit] } else { given };
    let server = Arc::new(Server::new(model(&rates, assumed.latency)));
    let access = Access::new(BASE_URL, None)?;
    let mut session = sandbox.open(settings, access, Arc::new(InProcess(Arc::clone(&server)))).await?;
    let mut tally = PlanTally::new(&batch, Earlier::of(&batch.inputs, &known, chat, batch.resend));
    let started = Instant::now();
    let stop = Stop::never().with_deadline(batch.deadline);
    // Only a deadline has to be looked at in between.
    let moment = batch.deadline.map_or(LONG, |deadline| (deadline / 100).max(Duration::from_millis(1)));
    let stopped = feed(&mut session, batch.resend.rows(&batch.inputs, &known, chat), &stop, moment, &mut tally).await;
    tally.finish();
    let elapsed = started.elapsed();
    let latency = (assumed.latency.least + assumed.latency.most) / 2;
    Ok(Forecast {
        stopped: stopped?,
        count: batch.inputs.count(),
        sent: server.stats().sent,
        bound: bound(tally.figures.answered, &rates, session.max_in_flight(), latency),
        is_assumed,
        rates,
        latency: assumed.latency,
        elapsed,
        ends: epoch + elapsed,
        tally,
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

const MORE: &str = "\
The same batch in virtual time, against a model of the endpoint: nothing is sent, no key is needed, no file is \
changed. Takes the flags of becalm run; with -o it leaves out what was answered before. Answers are taken to be as \
long as they may be.

Examples:
  becalm plan contracts --model some-model --limit 10/60s
  becalm plan in.jsonl --model some-model --assume-limit 60/60s --latency 2s..20s
  becalm plan in.jsonl --model some-model --limit 10/60s --price-in 0.15 --price-out 0.6 --budget 5";
/// No request leaves this process.
const BASE_URL: &str = "http://plan.invalid/v1";
/// So that two plans are the same.
const SEED: u64 = 1;
/// Where time is virtual nobody waits for a sign of life.
const LONG: Duration = Duration::from_secs(3_600);
