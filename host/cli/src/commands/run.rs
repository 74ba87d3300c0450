//! `becalm run`: the main job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use becalm::{Metered, Pool};

use crate::batch::best_time::best_time;
use crate::batch::feeder::{MOMENT, feed};
use crate::batch::file_limit;
use crate::batch::running::Running;
use crate::batch::stop::Stop;
use crate::cached_sandbox::sandbox;
use crate::commands::plan;
use crate::exit::{BrokenOff, Exit};
use crate::flags::batch::BatchFlags;
use crate::flags::forecast::ForecastFlags;
use crate::flags::values::span;
use crate::flags::watching::WatchingFlags;
use crate::terminal::reporter::{Reporter, trace};

/// Send a batch of documents and bring every one home.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    #[command(flatten)]
    batch: BatchFlags,
    /// After Ctrl-C or SIGTERM, how long requests on the wire may take to end
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    grace: Duration,
    /// Send nothing; predict how the run goes, as `becalm plan` does
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    watching: WatchingFlags,
    #[command(flatten)]
    assumed: ForecastFlags,
}

impl Args {
    pub(crate) const fn is_dry(&self) -> bool {
        self.dry_run
    }
}

pub(crate) fn dry_run(args: &Args) -> Result<Exit> {
    plan::predict(&args.batch, &args.assumed, args.watching.json)
}

pub(crate) async fn run(args: &Args) -> Result<Exit> {
    let Some(base_url) = &args.batch.base_url else {
        bail!(
            "no endpoint is named\nhint: name it with --base-url or OPENAI_BASE_URL, such as https://api.example.com/v1"
        );
    };
    if args.watching.verbose > 1 {
        trace();
    }
    let mut batch = args.batch.check(base_url, args.watching.events.as_deref())?;
    batch.settings.trace = args.watching.wants_requests();
    let lowered = file_limit::cap(&mut batch.settings);
    let (access, key_of) = args.batch.endpoint.access(base_url)?;
    let begins = beginning(base_url, key_of);
    let sender = Metered::new(Pool::new(&batch.settings.timeouts, &args.batch.endpoint.route()?)?);
    let mut session = sandbox()?.open(batch.settings.clone(), access, Arc::clone(&sender) as _).await?;
    // The last thing that can go wrong before anything is sent: until here no file was touched.
    let mut running = Running::new(&batch, |done| Reporter::new(&args.watching, batch.inputs.count(), done))?;
    running.begin(&begins, lowered.as_deref());

    let started = Instant::now();
    let stop = Stop::on_signals(args.grace)?.with_deadline(batch.deadline);
    let fed = feed(&mut session, running.rows(&batch), &stop, MOMENT, &mut running).await;
    running.close().map_err(BrokenOff)?;
    let stopped = fed.map_err(BrokenOff)?;

    let limits = session.status().await?.limits;
    let bound = best_time(&limits, running.answered(), session.max_in_flight(), sender.latency());
    Ok(running.end(started.elapsed(), bound, &limits, stopped))
}

/// Where requests and key go: whoever reads it knows whether that is meant.
fn beginning(base_url: &str, key_of: Option<&str>) -> String {
    let host = base_url.parse::<http::Uri>().ok().and_then(|url| {
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        Some(format!("{}{port}", url.host()?))
    });
    let key = key_of.map_or_else(|| "without a key".into(), |variable| format!("with the key of {variable}"));
    format!("requests go to {}, {key}", host.unwrap_or_default())
}

const MORE: &str = "\
The key is taken from OPENAI_API_KEY, or from where --key-env says. A run that was broken off goes on when it is started again with the same \
output file: what was answered is not sent again, what failed or is missing is.

Any flag can have its default in becalm.toml (max-in-flight = 3), in the folder where becalm is started, in \
~/.config/becalm or where BECALM_CONFIG says, or in the environment (BECALM_MAX_IN_FLIGHT=3). Flags win over the \
environment, that over the folder, and that over your own file. The folder's may not say where the key goes, which \
key it is, whom to trust, or which files are read and written.

Exit codes: 0 all answered, 1 some failed, 2 usage or input, 3 unfinished (run it again), 4 every request would fail.

Examples:
  becalm run contracts --base-url https://api.example.com/v1 --model some-model -o results.jsonl
  becalm run 'reports/**/*.md' more.jsonl --model some-model -o results.jsonl --limit 10/60s
  becalm run rows.csv --id-column nr --text-column body --model some-model -o results.jsonl
  becalm run in.jsonl --model some-model -o results.jsonl --budget 5 --price-in 0.15 --price-out 0.6
  becalm run - --model some-model -o results.jsonl < texts.jsonl";
