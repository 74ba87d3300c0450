//! Servers that have a name: what people run, and what has gone wrong on them.

use std::fmt;

use becalm_policy::{Delay, Rate, Unit};

use crate::many_worlds::{Case, play_variants};
use crate::played::Played;
use crate::summary::{mean, missing};
use crate::world::{Changes, HintStyle, Kind, Network, Stray, World};

/// A named case, played with some seeds.
#[derive(Clone, Debug)]
pub struct NamedRow {
    name: &'static str,
    cases: Vec<Case>,
}

/// All named cases.
pub fn named() -> Vec<NamedRow> {
    let (names, worlds): (Vec<_>, Vec<_>) = worlds().into_iter().unzip();
    names.into_iter().zip(play_variants(&worlds)).map(|(name, cases)| NamedRow { name, cases }).collect()
}

/// The first named case that has these words in its name.
pub fn named_world(words: &str) -> Option<World> {
    worlds().into_iter().find(|(name, _)| name.starts_with(words)).map(|(_, world)| world)
}

fn worlds() -> Vec<(&'static str, World)> {
    let given = |amount, window_s| Rate { unit: Unit::Requests, amount, window: Delay::from_secs(window_s) };
    let silent = |kind, amount, window_ms| World { hint: HintStyle::None, ..World::plain(kind, amount, window_ms) };
    let unlimited = |changes| World { documents: 3_000, changes, ..silent(Kind::Unlimited, 1, 1_000) };
    let stray = |number, hint_s| unlimited(Changes { stray: Some(Stray { number, hint_s }), ..Changes::default() });
    let changed = |kind, documents, hint, factor| World {
        documents,
        hint,
        changes: Changes { factor: Some(factor), ..Changes::default() },
        ..World::plain(kind, 20, 10_000)
    };
    vec![
        (
            "given 10 per 3 s, jitter of 50 ms",
            World {
                known: vec![given(10, 3)],
                documents: 60,
                network: Network { base_ms: 1.0, jitter_ms: 50.0, is_heavy: false },
                ..World::plain(Kind::Rolling, 10, 3_000)
            },
        ),
        (
            "10 per 60 s without a hint, delay of 300 ms",
            World {
                documents: 50,
                max_in_flight: 3,
                service_ms: 1_000.0,
                network: Network { base_ms: 1.0, jitter_ms: 300.0, is_heavy: false },
                ..silent(Kind::Rolling, 10, 60_000)
            },
        ),
        (
            "given 1 per 1 s, others take a third",
            World {
                known: vec![given(1, 1)],
                documents: 300,
                changes: Changes { strangers: true, ..Changes::default() },
                ..World::plain(Kind::Rolling, 1, 1_000)
            },
        ),
        (
            "1 per 1 s, others take a third",
            World {
                documents: 300,
                changes: Changes { strangers: true, ..Changes::default() },
                ..World::plain(Kind::Rolling, 1, 1_000)
            },
        ),
        (
            "nginx 5 r/s burst 5 nodelay, no hint",
            World { burst: Some(6), documents: 120, ..silent(Kind::Nginx, 5, 1_000) },
        ),
        ("nginx limit_conn 3, no hint", World { cap: Some(3), documents: 120, ..silent(Kind::Concurrency, 1, 1_000) }),
        ("haproxy http_req_rate(5s) > 10, no hint", World { documents: 60, ..silent(Kind::Haproxy, 10, 5_000) }),
        ("counter 10 per 5 s, Retry-After", World { documents: 60, ..World::plain(Kind::Counter, 10, 5_000) }),
        ("no limit, stray 429 with 5 s at request 9", stray(9, Some(5))),
        ("no limit, stray 429 with 5 s at request 1000", stray(1_000, Some(5))),
        ("no limit, stray 429 without hint at 9", stray(9, None)),
        (
            "no limit, 503 with 5 s for 1 %",
            unlimited(Changes { faults: 0.01, fault_hint_s: Some(5), ..Changes::default() }),
        ),
        ("no limit, outage of 30 s", unlimited(Changes { outage: Some(0.3), ..Changes::default() })),
        (
            "rolling 10 per 5 s, exact hint, 2 poison",
            World {
                documents: 100,
                hint: HintStyle::Exact,
                changes: Changes { poison: 2, ..Changes::default() },
                ..World::plain(Kind::Rolling, 10, 5_000)
            },
        ),
        (
            "given 1000 per day, unknown 20 per 60 s",
            World {
                short: Some((20, 60_000)),
                documents: 200,
                known: vec![given(1_000, 86_400)],
                ..World::plain(Kind::Two, 1_000, 86_400_000)
            },
        ),
        ("rolling 20 per 10 s halves, Retry-After", changed(Kind::Rolling, 600, HintStyle::RoundedUp, 0.5)),
        ("rolling 20 per 10 s doubles, Retry-After", changed(Kind::Rolling, 900, HintStyle::RoundedUp, 2.0)),
        ("rolling 20 per 10 s doubles, no hint", changed(Kind::Rolling, 900, HintStyle::None, 2.0)),
        (
            "bucket 2/s burst 20 doubles, Retry-After",
            World { burst: Some(20), ..changed(Kind::Bucket, 900, HintStyle::RoundedUp, 2.0) },
        ),
    ]
}

impl NamedRow {
    /// The head of a table of rows.
    pub const HEAD: &str = "                                               ideal  eff mean worst  best  refusals mean most  above ideal  recovered";
}

impl fmt::Display for NamedRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, cases } = self;
        let worst = cases.iter().map(|case| case.played.efficiency()).fold(f64::INFINITY, f64::min);
        let most = cases.iter().map(|case| case.played.refusals).max().unwrap_or(0);
        let ideal_s = mean(cases, |played| played.schedule.ideal_ms as f64 / 1e3);
        let best = cases.iter().map(Case::best).sum::<f64>() / cases.len() as f64;
        write!(out, "{name:45} {ideal_s:6.1}  {:8.3} {worst:5.3} {best:5.3}", mean(cases, Played::efficiency))?;
        write!(out, "  {:13.1} {most:4}", mean(cases, |played| played.refusals as f64))?;
        let missing = missing(cases);
        let took_s = mean(cases, |played| played.took_ms() as f64 / 1e3);
        let above = if missing.is_empty() { format!("{:.1} s", took_s - ideal_s) } else { "–".to_string() };
        write!(out, "  {above:>11}{}{missing}", recovery(cases))
    }
}

/// After a change: how many recover, and how long the slowest of them takes. Else nothing.
fn recovery(cases: &[Case]) -> String {
    if cases.iter().all(|case| case.world.changes.factor.is_none()) {
        return String::new();
    }
    let recovered: Vec<_> = cases.iter().filter_map(recovery_s).collect();
    let slowest = recovered.iter().max().map_or(String::new(), |slowest| format!(", {slowest} s at most"));
    format!("  {} of {}{slowest}", recovered.len(), cases.len())
}

/// How long after a change of the limit until answers come at 85 % of the new rate, over two windows.
fn recovery_s(case: &Case) -> Option<u64> {
    let Case { world, played, .. } = case;
    let rate = world.rate() * world.changes.factor?;
    let changed_ms = played.schedule.change_at_ms?;
    let span_ms = (2 * world.window_ms).max(10_000);
    let before = |ms| played.answered_at_ms.partition_point(|at| *at <= ms);
    let enough = 0.85 * rate * span_ms as f64;
    let last_ms = played.took_ms().saturating_sub(span_ms);
    let mut starts = (changed_ms..last_ms).step_by(1_000);
    let recovered = starts.find(|start| (before(start + span_ms) - before(*start)) as f64 >= enough)?;
    Some((recovered - changed_ms) / 1_000)
}
