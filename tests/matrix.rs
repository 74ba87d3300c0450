//! Every server model × what the policy is told, on a small and on a large job, through the real component in virtual
//! time. The tables are kept in `matrix/` and compared with these runs, so they are always what this code does; `make
//! matrix` writes them anew. What has to be reached, whatever the tables say, is asserted here.

mod support;

use std::time::Duration;

use becalm::server::{HintForm, Kind, Model, Spread};
use becalm::{Rate, Settings, Unit};
use support::{Run, documents, keep, run, settings};

/// A batch to bring home.
struct Job {
    name: &'static str,
    documents: usize,
    in_flight: u32,
    requests: u64,
    latency: Spread,
    seeds: u64,
}

const REFERENCE: Job = Job {
    name: "50 documents, 3 in flight, 10 requests per 60 s, answers after 1 s (most refusals and mean time of five seeds)",
    documents: 50,
    in_flight: 3,
    requests: 10,
    latency: Spread::exactly(Duration::from_secs(1)),
    seeds: 5,
};

const LARGE: Job = Job {
    name: "2,000 documents, 16 in flight, 100 requests per 60 s, answers after 2 to 20 s",
    documents: 2_000,
    in_flight: 16,
    requests: 100,
    latency: Spread::between(Duration::from_secs(2), Duration::from_secs(20)),
    seeds: 1,
};

/// What the policy knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// The limit is set.
    Limit,
    /// Every answer states the limit.
    Headers,
    /// Nothing, but for the hint of a refusal where the server gives one.
    Nothing,
}

/// A server, by the letter of its model, and what makes it special.
struct Row {
    name: String,
    model: Model,
    told: Told,
}

fn rows(job: &Job) -> Vec<Row> {
    let base =
        |limiter, hint| Model { limiter, hint, requests: job.requests, latency: job.latency, ..Model::default() };
    let rolling = || base(Kind::Rolling, HintForm::Seconds);
    let strict = || base(Kind::RollingStrict, HintForm::Seconds);
    // Six, and in the large job some seventy, of these documents take the tokens of a window.
    let tokens = Some(if job.requests == 10 { 4_000 } else { 40_000 });
    let servers = [
        ("A rolling", rolling()),
        ("B strict", strict()),
        ("C rolling, no hint", base(Kind::Rolling, HintForm::None)),
        ("D strict, no hint", base(Kind::RollingStrict, HintForm::None)),
        ("E strict, hint counts refused", Model { hint_counts_refused: true, ..strict() }),
        ("F token bucket", base(Kind::TokenBucket, HintForm::Seconds)),
        ("G fixed window", base(Kind::FixedWindow, HintForm::Seconds)),
        ("H places", Model { requests: u64::from(job.in_flight / 2 + 1), ..base(Kind::Concurrency, HintForm::None) }),
        ("S 60 per 60 s as 1 per 1 s", Model { requests: 60, subwindow: Some(Duration::from_secs(1)), ..rolling() }),
        ("T tokens", Model { tokens, ..rolling() }),
        ("T tokens, given back", Model { tokens, tokens_settled: true, ..rolling() }),
        ("N none", base(Kind::None, HintForm::None)),
    ];
    let delay = Spread::between(Duration::ZERO, Duration::from_millis(300));
    let latency = Spread::between(Duration::from_millis(100), Duration::from_secs(30));
    let mut rows = vec![];
    for (name, model) in servers {
        for told in [Told::Limit, Told::Headers, Told::Nothing] {
            let has_headers = !matches!(model.limiter, Kind::Concurrency | Kind::None);
            if told == Told::Headers && !has_headers || told == Told::Limit && model.limiter == Kind::None {
                continue;
            }
            let model = Model { limit_headers: told == Told::Headers, ..model.clone() };
            let others = if model.limiter == Kind::Concurrency { 1 } else { model.requests / 3 };
            let mut row =
                |special: &str, model: Model| rows.push(Row { name: format!("{name}{special}"), model, told });
            row("", model.clone());
            row(", answers 0.1 to 30 s", Model { latency, ..model.clone() });
            if model.limiter == Kind::None {
                continue;
            }
            row(", delay", Model { delay, ..model.clone() });
            row(", others", Model { others, ..model.clone() });
            if model.hint == HintForm::Seconds && told == Told::Nothing {
                row(", date", Model { hint: HintForm::Date, ..model.clone() });
                row(", ms", Model { hint: HintForm::Milliseconds, ..model });
            }
        }
    }
    rows
}

/// The limit as it is enforced; what others take of it is not known beforehand.
fn enforced(model: &Model) -> (u64, Duration) {
    match model.subwindow {
        Some(subwindow) => (model.requests * subwindow.as_secs() / model.window.as_secs(), subwindow),
        None => (model.requests, model.window),
    }
}

fn tell(settings: &mut Settings, model: &Model) {
    let (amount, window) = enforced(model);
    if model.limiter == Kind::Concurrency {
        settings.limits.max_in_flight = settings.limits.max_in_flight.min(amount as u32);
        return;
    }
    let window = window.as_millis() as u64;
    let tokens = model.tokens.map(|amount| Rate { unit: Unit::Tokens, amount, window });
    settings.limits.rates.push(Rate { unit: Unit::Requests, amount, window });
    settings.limits.rates.extend(tokens);
}

/// The time in which exact pacing brings the job home that knows the server to the millisecond: documents go in their
/// order, as soon as a place on the wire is free and the limiter lets them; their answers take what they took here.
fn ideal(job: &Job, row: &Row, run: &Run) -> Duration {
    let Row { model, told, .. } = row;
    let (amount, window) = enforced(model);
    let latencies = run.timeline.iter().filter(|arrival| arrival.admitted).map(|arrival| arrival.latency_ms);
    let mean_delay = (model.delay.least + model.delay.most) / 2;
    let tokens = run.stats.tokens / job.documents as u64;
    let of_tokens = model.tokens.filter(|_| !model.tokens_settled).map_or(u64::MAX, |most| most / tokens);
    let share = amount.min(of_tokens);
    // Where a window has only one or two requests, others leave us longer ones rather than fewer.
    let (share, window) = match (model.others, model.subwindow) {
        (0, _) => (share, window),
        (others, Some(_)) => (share, window.mul_f64(model.requests as f64 / (model.requests - others) as f64)),
        (others, None) => (share.saturating_sub(others).max(1), window),
    };
    let is_crowd = model.limiter == Kind::Concurrency;
    let places = if is_crowd { u64::from(job.in_flight).min(share) } else { job.in_flight.into() } as usize;
    // An arrival that may vary by so much turns the window into a longer one.
    let window = (window + model.delay.most).as_millis() as u64;
    let mut free = vec![0; places];
    let mut starts = Vec::<u64>::new();
    let mut end = 0;
    for latency in latencies {
        free.sort_unstable();
        let n = starts.len();
        let lets = match (model.limiter, *told) {
            (Kind::None | Kind::Concurrency, _) => 0,
            (Kind::TokenBucket, Told::Headers | Told::Nothing) => {
                (n as u64 + 1).saturating_sub(share) * model.window.as_millis() as u64 / share
            }
            // Who is told no more than so many per window may not know that it is a bucket.
            _ => n.checked_sub(share as usize).map_or(0, |before| starts[before] + window),
        };
        let start = lets.max(free[0]);
        free[0] = start + latency + mean_delay.as_millis() as u64;
        end = end.max(free[0]);
        starts.push(start);
    }
    Duration::from_millis(end)
}

/// What has to be reached: refusals at most, efficiency at least.
fn goal(job: &Job, row: &Row) -> (u64, f64) {
    let in_flight = u64::from(job.in_flight);
    let Row { model, told, .. } = row;
    match (model.limiter, told) {
        // One slot per second, of which others take a third at instants that nobody can know: every second try meets one
        // that is taken, and costs the hint of a second and its jitter.
        _ if model.subwindow.is_some() && model.others > 0 => (3 * job.documents as u64 / 2, 0.30),
        // Who is told the whole limit has to find out from refusals that a third of it is gone; nothing else tells.
        _ if model.others > 0 => (2 * in_flight + 6, 0.60),
        // A margin for 300 ms in a window of a second would cost every server without delay 23 %; it is learnt instead.
        _ if model.subwindow.is_some() && has_delay(model) => (2 * in_flight, 0.85),
        // A date is rounded to a second at both ends: it cannot tell a window of one second from one of two.
        _ if model.subwindow.is_some() && model.hint == HintForm::Date => (in_flight + 2, 0.50),
        // Without headers nothing says that tokens are given back.
        (_, Told::Limit) if model.tokens_settled => (0, 0.55),
        (_, Told::Limit) => (0, 0.98),
        (Kind::Concurrency | Kind::None, _) => (2 * in_flight, 0.95),
        _ if model.hint == HintForm::None && *told == Told::Nothing => (2 * in_flight, 0.80),
        (Kind::RollingStrict, _) => (in_flight + 2, 0.90),
        // Where the answers of three places may take half a minute each, one refusal costs more than two per cent.
        _ if model.latency.most > Duration::from_secs(20) => (in_flight + 2, 0.95),
        _ if has_delay(model) && *told == Told::Nothing => (in_flight + 3, 0.95),
        _ => (in_flight + 2, 0.97),
    }
}

fn has_delay(model: &Model) -> bool {
    model.delay.most > Duration::ZERO
}

/// What a server came to: most refusals and mean time of all seeds.
struct Figures {
    answered: usize,
    refusals: u64,
    time: Duration,
    ideal: Duration,
    in_flight: u64,
}

impl Figures {
    async fn of(job: &Job, row: &Row) -> Self {
        let mut sum =
            Self { answered: job.documents, refusals: 0, time: Duration::ZERO, ideal: Duration::ZERO, in_flight: 0 };
        for seed in 1..=job.seeds {
            let mut settings = settings().await;
            settings.seed = Some(seed);
            settings.limits.max_in_flight = job.in_flight;
            settings.retry.patience = 24 * 60 * 60 * 1_000;
            if row.told == Told::Limit {
                tell(&mut settings, &row.model);
            }
            let run = run(row.model.clone(), settings, documents(job.documents)).await;
            sum.answered = sum.answered.min(run.answered());
            sum.refusals = sum.refusals.max(run.stats.refused);
            sum.time += run.elapsed / job.seeds as u32;
            sum.ideal += ideal(job, row, &run) / job.seeds as u32;
            sum.in_flight = sum.in_flight.max(run.stats.max_in_flight);
        }
        sum
    }
}

/// A line of the table; panics where less is reached than has to be.
async fn line(job: &Job, row: &Row) -> String {
    let Figures { answered, refusals, time, ideal, in_flight } = Figures::of(job, row).await;
    let efficiency = ideal.as_secs_f64() / time.as_secs_f64();
    let line = format!(
        "| {} | {answered} | {} | {refusals} | {:.1} | {:.1} | {efficiency:.3} | {in_flight} |",
        row.name,
        job.documents - answered,
        time.as_secs_f64(),
        ideal.as_secs_f64(),
    );
    let (most_refusals, least) = goal(job, row);
    assert_eq!(answered, job.documents, "{:?}: {line}", row.told);
    assert!(refusals <= most_refusals && efficiency >= least, "{:?}: {line} {most_refusals}, {least}", row.told);
    line
}

async fn table(job: &Job) -> String {
    let mut table = format!("## {}\n", job.name);
    let rows = rows(job);
    for (told, title) in [
        (Told::Limit, "The limit is given"),
        (Told::Headers, "Every answer states the limit in its headers"),
        (Told::Nothing, "Nothing is known beforehand"),
    ] {
        table += &format!("\n### {title}\n\n{HEAD}");
        for row in rows.iter().filter(|row| row.told == told) {
            table += &line(job, row).await;
            table.push('\n');
        }
    }
    table
}

#[tokio::test(start_paused = true)]
async fn the_reference_job_comes_home_on_every_server() {
    keep(&table(&REFERENCE).await, "reference.md");
}

#[tokio::test(start_paused = true)]
async fn the_large_job_comes_home_on_every_server() {
    keep(&table(&LARGE).await, "large.md");
}

#[tokio::test(start_paused = true)]
async fn two_runs_with_one_seed_are_the_same() {
    let mut runs = vec![];
    for seed in [7, 7, 8] {
        let mut settings = settings().await;
        settings.seed = Some(seed);
        settings.trace = true;
        runs.push(run(Model::default(), settings, documents(50)).await);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0].timeline, runs[2].timeline, "the seed has no effect");
}

const HEAD: &str = "\
| server | answered | lost | refusals | time, s | ideal, s | efficiency | most in flight |
|---|--:|--:|--:|--:|--:|--:|--:|
";
