//! The reference job on every kind of server that has a minute: 50 documents, 10 per minute, 3 in flight, answers after 1 s.

use std::fmt;

use becalm_policy::{Delay, Rate, Unit};

use crate::many_worlds::{Case, play_variants};
use crate::played::Played;
use crate::summary::{mean, missing};
use crate::world::{HintStyle, Kind, Network, World};

/// One kind of server, played with some seeds.
#[derive(Clone, Debug)]
pub struct ReferenceRow {
    cases: Vec<Case>,
}

/// All rows.
pub fn reference() -> Vec<ReferenceRow> {
    let worlds: Vec<_> = [true, false].into_iter().flat_map(rows_of).collect();
    play_variants(&worlds).into_iter().map(|cases| ReferenceRow { cases }).collect()
}

fn rows_of(is_given: bool) -> Vec<World> {
    let hints: &[_] =
        if is_given { &[HintStyle::None] } else { &[HintStyle::RoundedUp, HintStyle::Exact, HintStyle::None] };
    let mut worlds = vec![];
    for kind in KINDS {
        for hint in hints {
            for jitter_ms in [0.0, 300.0] {
                worlds.push(world(kind, *hint, jitter_ms, is_given));
            }
        }
    }
    worlds
}

fn world(kind: Kind, hint: HintStyle, jitter_ms: f64, is_given: bool) -> World {
    let given = Rate { unit: Unit::Requests, amount: 10, window: Delay::from_secs(60) };
    World {
        phase_ms: 0,
        burst: (kind == Kind::Bucket).then_some(10),
        max_in_flight: 3,
        service_ms: 1_000.0,
        network: Network { base_ms: 1.0, jitter_ms, is_heavy: false },
        hint,
        known: if is_given { vec![given] } else { vec![] },
        ..World::plain(kind, 10, 60_000)
    }
}

impl ReferenceRow {
    /// The head of a table of rows.
    pub const HEAD: &str = "limit      server              hint        jitter   efficiency  refusals at most";
}

impl fmt::Display for ReferenceRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cases = &self.cases;
        let world = &cases[0].world;
        let given = if world.known.is_empty() { "not given" } else { "given" };
        let kind = format!("{:?}", world.kind);
        let efficiency = mean(cases, Played::efficiency);
        let refusals = cases.iter().map(|case| case.played.refusals).max().unwrap_or(0);
        let hint = world.hint.name();
        write!(out, "{given:10} {kind:19} {hint:10} {:4} ms", world.network.jitter_ms)?;
        write!(out, "   {efficiency:10.3}  {refusals:16}{}", missing(cases))
    }
}

const KINDS: [Kind; 6] =
    [Kind::Rolling, Kind::RollingCounts, Kind::RollingCountsSelf, Kind::Bucket, Kind::FixedClock, Kind::Counter];
