//! `becalm run`: the main job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use becalm::outcomes::bound;
use becalm::{Access, Admits, Limit, LimitSource, Metered, Pool, Settings};

use super::args;
use super::batch::Batch;
use super::drive::{MOMENT, drive};
use super::exit::{BrokenOff, Exit};
use super::file_limit;
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
    let capped = cap(&mut settings, file_limit::raise());
    let key = std::env::var("OPENAI_API_KEY").ok();
    let begins = beginning(&settings.endpoint.base_url, key.as_deref());
    let access = Access::new(&settings.endpoint.base_url, key)?;
    let sender = Metered::new(Pool::new(&settings.timeouts, &args.batch.route.route()?)?);
    let mut session = sandbox.open(settings.clone(), access, Arc::clone(&sender) as _).await?;
    // The last thing that can go wrong before anything is sent: until here no file was touched.
    let mut batch = Batch::new(&args.batch, &args.watching, &inputs, &settings)?;
    batch.voice.begin(&begins);
    capped.iter().for_each(|warning| batch.voice.warn(warning));

    let started = Instant::now();
    let past = batch.journal.past();
    let rows = args.batch.rows(&inputs, &past, batch.asked);
    let stop = Stop::on_signals(args.grace)?.with_deadline(args.batch.deadline);
    let driven = drive(&mut session, rows, &stop, MOMENT, &mut batch).await;
    batch.voice.finish();
    batch.journal.sync().context("cannot write the results").map_err(BrokenOff)?;
    let stopped = driven.map_err(BrokenOff)?;

    let limits = session.status().await?.limits;
    let bound = best(&limits, batch.figures.answered, settings.limits.max_in_flight, sender.latency());
    Ok(batch.end(started.elapsed(), bound, &limits, stopped))
}

/// The best possible time of so many documents, and whether it follows from what was learnt: where a limit was set or stated,
/// that alone counts, so that a wrong lesson cannot praise itself.
fn best(limits: &[Limit], documents: u64, max_in_flight: u32, latency: Duration) -> (Duration, bool) {
    let (learnt, stated) = limits.iter().partition::<Vec<_>, _>(|limit| limit.source == LimitSource::Refusals);
    let is_learnt = stated.is_empty() && !learnt.is_empty();
    let counted: Vec<&Limit> = if is_learnt { learnt } else { stated };
    let admits = || counted.iter().map(|limit| &limit.admits);
    let rates = admits().filter_map(Admits::rate).collect::<Vec<_>>();
    let in_flight = admits().filter_map(Admits::in_flight).chain([max_in_flight]).min();
    (bound(documents, &rates, in_flight.unwrap_or(1), latency), is_learnt)
}

/// Where requests and key go: whoever reads it knows whether that is meant.
fn beginning(base_url: &str, key: Option<&str>) -> String {
    let host = base_url.parse::<http::Uri>().ok().and_then(|url| {
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        Some(format!("{}{port}", url.host()?))
    });
    let key = if key.is_some_and(|key| !key.is_empty()) { "with the key of OPENAI_API_KEY" } else { "without a key" };
    format!("requests go to {}, {key}", host.unwrap_or_default())
}

/// Each request takes a descriptor. Says what was lowered.
fn cap(settings: &mut Settings, most: u64) -> Option<String> {
    let (wanted, most) = (settings.limits.max_in_flight, u32::try_from(most).unwrap_or(u32::MAX).max(1));
    settings.limits.max_in_flight = wanted.min(most);
    (wanted > most)
        .then(|| format!("{most} requests in flight instead of {wanted}: the system allows no more files (ulimit -n)"))
}

const MORE: &str = "\
The key is taken from OPENAI_API_KEY. A run that was broken off goes on when it is started again with the same \
output file: what was answered is not sent again, what failed or is missing is.

Any flag can have its default in becalm.toml (max-in-flight = 3), in the folder where becalm is started, in \
~/.config/becalm or where BECALM_CONFIG says, or in the environment (BECALM_MAX_IN_FLIGHT=3). Flags win over the \
environment, that over the folder, and that over your own file. The folder's may not name base-url, ca-file, output \
or events.

Exit codes: 0 all answered, 1 some failed, 2 usage or input, 3 unfinished (run it again), 4 every request would fail.

Examples:
  becalm run contracts --base-url https://api.example.com/v1 --model some-model -o results.jsonl
  becalm run 'reports/**/*.md' more.jsonl --model some-model -o results.jsonl --limit 10/60s
  becalm run rows.csv --id-column nr --text-column body --model some-model -o results.jsonl
  becalm run in.jsonl --model some-model -o results.jsonl --budget 5 --price-in 0.15 --price-out 0.6
  becalm run - --model some-model -o results.jsonl < texts.jsonl";
