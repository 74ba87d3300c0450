//! `becalm run`: the main job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use becalm::outcomes::bound;
use becalm::{Access, Admits, Metered, Pool};

use super::args;
use super::batch::Batch;
use super::drive::{MOMENT, drive};
use super::exit::{BrokenOff, Exit};
use super::plan::{self, Assumed};
use super::sandbox::sandbox;
use super::stop::Stop;
use super::values::span;
use super::voice;

/// Send a batch of documents and bring every one home.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    #[command(flatten)]
    batch: args::Batch,
    /// After Ctrl-C or SIGTERM, how long requests on the wire may take to end
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    grace: Duration,
    /// Send nothing; foretell how the run goes, as `becalm plan` does
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    watching: voice::Args,
    #[command(flatten)]
    assumed: Assumed,
}

impl Args {
    pub(crate) const fn is_dry(&self) -> bool {
        self.dry_run
    }
}

pub(crate) fn dry_run(args: &Args) -> Result<Exit> {
    plan::foretell(&args.batch, &args.assumed, args.watching.json)
}

pub(crate) async fn run(args: &Args) -> Result<Exit> {
    let Some(base_url) = &args.batch.base_url else {
        bail!(
            "no endpoint is named\nhint: name it with --base-url or OPENAI_BASE_URL, such as https://api.example.com/v1"
        );
    };
    args.watching.trace();
    let inputs = args.batch.scan(args.watching.events.as_deref())?;
    let sandbox = sandbox()?;
    let mut settings = args.batch.settings(sandbox.default_settings().await?, base_url);
    settings.trace = args.watching.wants_requests();
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let sender = Metered::new(Pool::new(&settings.timeouts, &args.batch.route.route()?)?);
    let mut session = sandbox.open(settings.clone(), access, Arc::clone(&sender) as _).await?;
    // The last thing that can go wrong before anything is sent: until here no file was touched.
    let mut batch = Batch::new(&args.batch, &args.watching, &inputs, &settings)?;

    let started = Instant::now();
    let past = batch.journal.past();
    let rows = args.batch.rows(&inputs, &past, batch.asked);
    let stop = Stop::on_signals(args.grace)?.with_deadline(args.batch.deadline);
    let driven = drive(&mut session, rows, &stop, MOMENT, &mut batch).await;
    batch.voice.finish();
    batch.journal.sync().context("cannot write the results").map_err(BrokenOff)?;
    let stopped = driven.map_err(BrokenOff)?;

    let limits = session.status().await?.limits;
    let admits = || limits.iter().map(|limit| &limit.admits);
    let rates = admits().filter_map(Admits::rate).collect::<Vec<_>>();
    let in_flight = admits().filter_map(Admits::in_flight).chain([settings.limits.max_in_flight]).min();
    let bound = bound(batch.figures.answered, &rates, in_flight.unwrap_or(1), sender.latency());
    Ok(batch.end(started.elapsed(), bound, &limits, stopped))
}

const MORE: &str = "\
The key is taken from OPENAI_API_KEY. A run that was broken off goes on when it is started again with the same \
output file: what was answered is not sent again, what failed or is missing is.

Any flag can have its default in becalm.toml (max-in-flight = 3), in the folder where becalm is started or where \
BECALM_CONFIG says, or in the environment (BECALM_MAX_IN_FLIGHT=3). Flags win over the environment, and that wins \
over the file.

Exit codes: 0 all answered, 1 some failed, 2 usage or input, 3 unfinished (run it again), 4 every request would fail.

Examples:
  becalm run contracts --base-url https://api.example.com/v1 --model some-model -o results.jsonl
  becalm run 'reports/**/*.md' more.jsonl --model some-model -o results.jsonl --limit 10/60s
  becalm run rows.csv --id-column nr --text-column body --model some-model -o results.jsonl
  becalm run in.jsonl --model some-model -o results.jsonl --budget 5 --price-in 0.15 --price-out 0.6
  becalm run - --model some-model -o results.jsonl < texts.jsonl";
