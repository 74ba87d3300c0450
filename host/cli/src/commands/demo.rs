//! `becalm demo`: the reference job three times against a server of its own: with the usual retries, with becalm that is
//! told nothing, and with becalm that is told the limit. Every figure is measured.

mod usual_retries;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use becalm::outcomes::{Figures, Spending, bound, percentile};
use becalm::server::{Listening, Model, Server, Spread, Stats};
use becalm::{Access, Document, Event, Happening, Pool, Rate, Route, Sandbox, Settings, Status, Unit};

use crate::batch::feeder::{MOMENT, Observer, feed};
use crate::batch::stop::Stop;
use crate::cached_sandbox::sandbox;
use crate::exit::Exit;
use crate::terminal::progress::Progress;
use crate::terminal::words::in_words;

/// Show the difference on a rate-limited server of its own: the usual retries, then becalm.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// A window of 60 s, as it really is: takes a quarter of an hour
    #[arg(long)]
    real_time: bool,
    /// Documents in the batch
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    documents: u64,
}

pub(crate) async fn demo(args: &Args) -> Result<Exit> {
    let window = if args.real_time { REAL_WINDOW } else { SHORT_WINDOW };
    let scale = window.as_secs_f64() / REAL_WINDOW.as_secs_f64();
    let model = Model { window, latency: Spread::exactly(Duration::from_secs(1).mul_f64(scale)), ..Model::default() };
    eprintln!(
        "{} documents; the server allows {} requests in any {}, answers after {} and refuses the rest with Retry-After",
        args.documents,
        model.requests,
        in_words(window),
        in_words(model.latency.most)
    );
    if !args.real_time {
        eprintln!("all times are shortened by {:.0}, from a window of 60 s (--real-time: not shortened)", 1.0 / scale);
    }
    let sandbox = sandbox()?;
    let rate = Rate { unit: Unit::Requests, amount: model.requests, window: window.as_millis() as u64 };
    let columns = [
        usual_retries(args.documents, &model, scale).await?,
        becalm("becalm, told nothing", &sandbox, args.documents, &model, None, scale).await?,
        becalm("becalm, limit given", &sandbox, args.documents, &model, Some(rate), scale).await?,
    ];
    print(&columns, args.documents, bound(args.documents, &[rate], IN_FLIGHT, model.latency.most));
    let is_home = columns[1..].iter().all(|column| column.answered == args.documents);
    Ok(if is_home { Exit::Done } else { Exit::SomeFailed })
}

/// What one policy came to.
struct Column {
    name: &'static str,
    answered: u64,
    failed: u64,
    stats: Stats,
    elapsed: Duration,
    waits: Option<(Duration, Duration)>,
    jitter: Option<(Duration, Duration)>,
}

async fn usual_retries(documents: u64, model: &Model, scale: f64) -> Result<Column> {
    let server = Arc::new(Server::new(model.clone()));
    let listening = Listening::on_port(0, Arc::clone(&server)).await?;
    let pool = Pool::new(&Settings::default().timeouts, &Route::default())?;
    let step = Duration::from_secs(1).mul_f64(scale);
    let started = Instant::now();
    let outcome = usual_retries::send_all(&pool, &listening.base_url(), documents, step).await?;
    let (elapsed, stats) = (started.elapsed(), server.stats());
    ensure!(outcome.refusals == stats.refused, "client and server disagree on the refusals");
    Ok(Column {
        name: "usual retries",
        answered: outcome.answered,
        failed: outcome.failed,
        stats,
        elapsed,
        waits: percentile(&outcome.waits, 50).zip(percentile(&outcome.waits, 95)),
        jitter: None,
    })
}

async fn becalm(
    name: &'static str,
    sandbox: &Sandbox,
    documents: u64,
    model: &Model,
    rate: Option<Rate>,
    scale: f64,
) -> Result<Column> {
    let server = Arc::new(Server::new(model.clone()));
    let listening = Listening::on_port(0, Arc::clone(&server)).await?;
    let mut settings = Settings::new(listening.base_url(), "demo").with_max_in_flight(IN_FLIGHT);
    settings.limits.rates = rate.into_iter().collect();
    for wait in [&mut settings.retry.jitter, &mut settings.retry.base, &mut settings.retry.cap] {
        *wait = (*wait as f64 * scale) as u64;
    }
    let access = Access::new(&settings.endpoint.base_url, None)?;
    let sender = Pool::new(&settings.timeouts, &Route::default())?;
    let mut shown = Shown {
        figures: Figures::default(),
        spending: Spending::new(&settings.chat, None, None),
        progress: Progress::new(documents, 0),
    };
    shown.progress.say(name);
    let started = Instant::now();
    let mut session = sandbox.open(settings, access, sender).await?;
    let texts = (0..documents).map(|n| Ok(Document::text(format!("document-{n}"), format!("Document {n}.")).into()));
    feed(&mut session, texts, &Stop::on_signals(Duration::ZERO)?, MOMENT, &mut shown).await?;
    let elapsed = started.elapsed();
    shown.progress.finish();
    let figures = shown.figures;
    Ok(Column {
        name,
        answered: figures.answered,
        failed: figures.failed + figures.postponed,
        stats: server.stats(),
        elapsed,
        waits: figures.wait(50).zip(figures.wait(95)),
        jitter: figures.jitter(),
    })
}

struct Shown {
    figures: Figures,
    spending: Spending,
    progress: Progress,
}

impl Observer for Shown {
    fn events(&mut self, events: &[Event]) -> Result<()> {
        for event in events {
            self.figures.add(event);
            if matches!(event.what, Happening::Outcome(_)) {
                self.progress.step();
            }
        }
        Ok(())
    }

    fn tick(&mut self, status: &Status) -> Result<()> {
        self.progress.show(status, &self.spending);
        Ok(())
    }
}

fn print(columns: &[Column], documents: u64, bound: Duration) {
    let row = |title: &str, cell: &dyn Fn(&Column) -> String| {
        let cells = columns.iter().map(|column| format!("{:>22}", cell(column))).collect::<String>();
        println!("{title:<22}{cells}");
    };
    let share = |count: u64| format!("{count} ({:.0} %)", 100.0 * count as f64 / documents as f64);
    let range = |range: Option<(Duration, Duration)>, between: &str| match range {
        Some((low, high)) => format!("{}{between}{}", in_words(low), in_words(high)),
        None => "–".into(),
    };
    row("", &|column| column.name.into());
    row("answered", &|column| share(column.answered));
    row("failed for good", &|column| column.failed.to_string());
    row("requests sent", &|column| column.stats.received.to_string());
    row("refused", &|column| column.stats.refused.to_string());
    row("most in flight", &|column| column.stats.max_in_flight.to_string());
    row("wait, p50 / p95", &|column| range(column.waits, " / "));
    row("of it jitter", &|column| range(column.jitter, " to "));
    row("time", &|column| in_words(column.elapsed));
    row("bound", &|_| in_words(bound));
    row("bound / time", &|column| {
        if column.answered < documents {
            "–".into()
        } else {
            format!("{:.2}", bound.as_secs_f64() / column.elapsed.as_secs_f64())
        }
    });
}

/// Workers in the case that started it.
const IN_FLIGHT: u32 = 3;
const REAL_WINDOW: Duration = Duration::from_secs(60);
const SHORT_WINDOW: Duration = Duration::from_secs(3);

const MORE: &str = "\
The server allows 10 requests in a rolling window and answers after a sixtieth of it; it refuses the rest with \
Retry-After. The window is shortened from 60 s so that the demo takes less than a minute.";
