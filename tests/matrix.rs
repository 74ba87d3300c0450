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
    /// Of two limits only the longer is set.
    Longer,
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
            // What a network may well do; in a window of a second only a fiftieth of it.
            let delay = if model.subwindow.is_some() { within(Duration::from_secs(1)) } else { delay };
            row(", delay", Model { delay, ..model.clone() });
            row(", others", Model { others, ..model.clone() });
            if model.hint == HintForm::Seconds && told == Told::Nothing {
                row(", date", Model { hint: HintForm::Date, ..model.clone() });
                row(", ms", Model { hint: HintForm::Milliseconds, ..model });
            }
        }
    }
    rows.extend(odd_windows(&rolling()));
    rows.extend(wrong_hints(&rolling()));
    rows.extend(two_limits(job, &rolling()));
    rows
}

/// An arrival may vary by a fiftieth of a short window, by what networks do in a long one.
fn within(window: Duration) -> Spread {
    Spread::between(Duration::ZERO, (window / 50).min(Duration::from_millis(300)))
}

/// Windows that nobody would guess.
fn odd_windows(base: &Model) -> Vec<Row> {
    let mut rows = vec![];
    for seconds in [2, 7, 15, 45] {
        let window = Duration::from_secs(seconds);
        for told in [Told::Limit, Told::Headers, Told::Nothing] {
            let limit_headers = told == Told::Headers;
            for hint in [HintForm::Seconds, HintForm::None] {
                let what = if hint == HintForm::None { ", no hint" } else { "" };
                let model = Model { window, hint, limit_headers, ..base.clone() };
                let delayed = Model { delay: within(window), ..model.clone() };
                rows.push(Row { name: format!("W {seconds} s{what}"), model, told });
                rows.push(Row { name: format!("W {seconds} s{what}, delay"), model: delayed, told });
            }
        }
    }
    rows
}

/// Hints that are always the same, and wrong.
fn wrong_hints(base: &Model) -> Vec<Row> {
    let row = |(name, seconds): (&str, u64)| Row {
        name: format!("X hints always {name}"),
        model: Model { hint_always: Some(Duration::from_secs(seconds)), ..base.clone() },
        told: Told::Nothing,
    };
    [("too short: 5 s", 5), ("too long: 90 s", 90)].map(row).into()
}

/// Two limits, of which one is given.
fn two_limits(job: &Job, base: &Model) -> Vec<Row> {
    let minute = base.window.as_millis() as u64;
    // Five minutes have four minutes' worth.
    let also = vec![Rate { unit: Unit::Requests, amount: 4 * job.requests, window: 5 * minute }];
    let model = Model { also, ..base.clone() };
    let row = |told, name: &str| Row { name: format!("Y two limits, {name}"), model: model.clone(), told };
    vec![row(Told::Limit, "the shorter given"), row(Told::Longer, "the longer given"), row(Told::Nothing, "none given")]
}

/// The limit as it is enforced; what others take of it is not known beforehand.
fn enforced(model: &Model) -> (u64, Duration) {
    match model.subwindow {
        Some(subwindow) => (model.requests * subwindow.as_secs() / model.window.as_secs(), subwindow),
        None => (model.requests, model.window),
    }
}

fn tell(settings: &mut Settings, model: &Model, told: Told) {
    if told == Told::Longer {
        return settings.limits.rates.extend(model.also.iter().cloned());
    }
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
    // Who is only told the limit cannot know that tokens are given back.
    let keeps_tokens = !model.tokens_settled || *told == Told::Limit;
    let of_tokens = model.tokens.filter(|_| keeps_tokens).map_or(u64::MAX, |most| most / tokens);
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
            (Kind::TokenBucket, Told::Headers | Told::Nothing | Told::Longer) => {
                (n as u64 + 1).saturating_sub(share) * model.window.as_millis() as u64 / share
            }
            // Who is told no more than so many per window may not know that it is a bucket.
            _ => n.checked_sub(share as usize).map_or(0, |before| starts[before] + window),
        };
        let also = |rate: &Rate| n.checked_sub(rate.amount as usize).map_or(0, |before| starts[before] + rate.window);
        let start = model.also.iter().map(also).max().unwrap_or(0).max(lets).max(free[0]);
        free[0] = start + latency + mean_delay.as_millis() as u64;
        end = end.max(free[0]);
        starts.push(start);
    }
    Duration::from_millis(end)
}

/// What has to be reached: refusals at most, efficiency at least. Each class is a kind of server and of knowledge; its figures
/// are what is reached, or more than is asked where less is reached.
fn goal(job: &Job, row: &Row) -> (u64, f64) {
    let Row { model, told, .. } = row;
    let documents = job.documents as u64;
    // A wave of refusals is as large as what is in flight.
    let wave = u64::from(job.in_flight) - 3;
    let is_given = *told == Told::Limit && model.limiter != Kind::Concurrency && model.also.is_empty();
    let has_hint = model.hint != HintForm::None && model.hint_always.is_none();
    let is_usual = model.window == Duration::from_secs(60);
    match () {
        // One slot per second, and a third of them gone at instants that nobody can know.
        () if model.others > 0 && model.subwindow.is_some() => (documents, 0.10),
        // A third of the room is gone.
        () if model.others > 0 => (documents / 10 + 45, 0.55),
        () if is_given => (0, 0.98),
        // What is stated of a bucket is its burst, which it admits once.
        () if model.limiter == Kind::TokenBucket && *told == Told::Headers => (16 + wave, 0.97),
        () if model.limiter == Kind::TokenBucket => (12 + wave, 0.97),
        // What is stated is another limit than the one that is enforced, and hints in whole seconds tell one second from two.
        () if model.subwindow.is_some() => (documents / 35 + 4, 0.91),
        () if model.limiter == Kind::Concurrency => (documents / 30 + 6, 0.95),
        () if model.hint_always.is_some() => (9 + wave, 0.64),
        () if has_hint || *told != Told::Nothing => (5 + 3 * wave, 0.95),
        // Nobody says when, and the window is none that anybody would guess.
        () if !is_usual => (20, 0.50),
        // The search goes on while answers take half a minute.
        () if model.latency.most > Duration::from_secs(20) => (6 + wave, 0.74),
        () => (6 + wave, 0.88),
    }
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
            let mut settings = settings();
            settings.seed = Some(seed);
            settings.limits.max_in_flight = job.in_flight;
            if matches!(row.told, Told::Limit | Told::Longer) {
                tell(&mut settings, &row.model, row.told);
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

/// A line of the table, and whether it reaches what it has to.
async fn line(job: &Job, row: &Row) -> (String, bool) {
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
    let is_reached = answered == job.documents && refusals <= most_refusals && efficiency >= least;
    (line, is_reached)
}

async fn table(job: &Job) -> String {
    let (mut table, mut missed) = (format!("## {}\n", job.name), vec![]);
    let rows = rows(job);
    for (told, title) in [
        (Told::Limit, "The limit is given"),
        (Told::Headers, "Every answer states the limit in its headers"),
        (Told::Longer, "The longer of two limits is given"),
        (Told::Nothing, "Nothing is known beforehand"),
    ] {
        table += &format!("\n### {title}\n\n{HEAD}");
        for row in rows.iter().filter(|row| row.told == told) {
            let (line, is_reached) = line(job, row).await;
            if !is_reached {
                missed.push(format!("{:?}: {line} instead of {:?}", row.told, goal(job, row)));
            }
            table += &line;
            table.push('\n');
        }
    }
    assert!(missed.is_empty(), "{} rows miss their goal:\n{}", missed.len(), missed.join("\n"));
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
        let mut settings = settings();
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
