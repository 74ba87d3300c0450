//! Draws a world from a seed. The distributions are a specification: what they are decides what the numbers mean.

use becalm_policy::{Delay, Rate, Unit};

use crate::draws::{Draws, Purpose};
use crate::world::{Changes, HintStyle, Kind, Network, ResetStyle, Stray, Tokens, World};

impl World {
    /// The world of this seed. Sixteen seeds in a row are one of each kind.
    pub fn of_seed(seed: u64) -> Self {
        let draws = &mut Draws::of(seed, Purpose::World);
        let kind = KINDS[(seed % KINDS.len() as u64) as usize];
        let mut world = limits(seed, kind, draws);
        job(&mut world, draws);
        said(&mut world, draws);
        world.changes = changes(&world, draws);
        world
    }
}

/// A world with this limit, of which nothing else is drawn yet.
fn limits(seed: u64, kind: Kind, draws: &mut Draws) -> World {
    let window_s = if draws.happens(0.35) { draws.one_of(&USUAL_S) } else { draws.log_between(1.0, 3_600.0) };
    let window_ms = (window_s * 1e3).round() as u64;
    let amount = draws.log_between(1.0, 5_000.0).round() as u64;
    World {
        seed,
        kind,
        amount,
        window_ms,
        phase_ms: draws.between(0.0, window_ms as f64) as u64,
        burst: burst(kind, amount, draws),
        short: (kind == Kind::Two).then(|| short(amount, window_ms, draws)),
        tokens: (kind == Kind::Tokens).then(|| tokens(amount, draws)),
        ..World::plain(kind, 1, 1_000)
    }
}

fn burst(kind: Kind, amount: u64, draws: &mut Draws) -> Option<u64> {
    match kind {
        Kind::Bucket | Kind::Gcra if draws.happens(0.4) => Some(amount),
        Kind::Bucket | Kind::Gcra => Some(at_least_1(amount as f64 * draws.log_between(0.02, 3.0))),
        Kind::Nginx => Some(draws.one_of(&[1, 1, 2, 4, 6, 11, 21])),
        _ => None,
    }
}

/// A window that is 5 to 100 times shorter and 1.3 to 8 times as fast.
fn short(amount: u64, window_ms: u64, draws: &mut Draws) -> (u64, u64) {
    let length = (window_ms as f64 / draws.log_between(5.0, 100.0)).round();
    let share = length / window_ms as f64;
    (at_least_1(amount as f64 * share * draws.log_between(1.3, 8.0)), length as u64)
}

/// Tokens for 20 to 80 % of the requests, but for a few documents at least.
fn tokens(amount: u64, draws: &mut Draws) -> Tokens {
    let median = draws.log_between(200.0, 3_000.0);
    let documents = amount as f64 * draws.between(0.2, 0.8);
    let documents = if amount < 4 { documents.max(1.0) * 4.0 } else { documents };
    Tokens { median, amount: at_least_1(median * documents) }
}

fn job(world: &mut World, draws: &mut Draws) {
    let windows = draws.happens(0.8).then(|| world.amount as f64 * draws.log_between(1.2, 40.0));
    world.documents = windows.unwrap_or_else(|| draws.log_between(20.0, 5_000.0)).clamp(20.0, 5_000.0) as usize;
    world.max_in_flight = draws.log_between(1.0, 64.0).round() as u32;
    world.service_ms = draws.log_between(20.0, 30_000.0);
    world.service_sigma = draws.one_of(&[0.0, 0.2, 0.6]);
    if world.limits_rate() && draws.happens(0.75) {
        // Quick enough that the limit is what binds.
        let needed = world.rate() * draws.log_between(1.3, 20.0);
        world.service_ms = world.service_ms.min(f64::from(world.max_in_flight) / needed).max(20.0);
    }
    world.cap = (world.kind == Kind::Concurrency)
        .then(|| at_least_1(f64::from(world.max_in_flight) * draws.between(0.1, 0.9)) as u32);
    world.network = Network {
        jitter_ms: if draws.happens(0.3) { 0.0 } else { draws.log_between(5.0, 300.0) },
        is_heavy: draws.happens(0.15),
        base_ms: draws.one_of(&[1.0, 10.0, 50.0]),
    };
}

/// What the server says, and what the client is told.
fn said(world: &mut World, draws: &mut Draws) {
    if !world.limits_rate() {
        return;
    }
    world.hint = hint(world, draws);
    world.headers = draws.happens(0.2).then(|| draws.one_of(&[ResetStyle::End, ResetStyle::Slot, ResetStyle::Full]));
    if draws.happens(0.3) {
        world.known = known(world, draws);
        // What the client is told is no less than what it may do.
        world.burst = world.burst.map(|burst| burst.min(world.amount));
    }
}

fn hint(world: &World, draws: &mut Draws) -> HintStyle {
    let window_s = world.window_ms as f64 / 1e3;
    match draws.one_of(&[0, 0, 1, 2, 2, 3, 4, 5]) {
        1 => HintStyle::Exact,
        2 => HintStyle::RoundedUp,
        3 => HintStyle::Date,
        4 => HintStyle::Short(((window_s * 0.1).clamp(1.0, 5.0) * 1e3) as u64),
        5 if world.burst.is_some() => {
            HintStyle::Long(whole_seconds(window_s / world.amount as f64 * draws.between(3.0, 20.0)))
        }
        5 => HintStyle::Long(whole_seconds(window_s * draws.between(1.2, 3.0))),
        _ => HintStyle::None,
    }
}

/// Where there are two limits: one, the other or both.
fn known(world: &World, draws: &mut Draws) -> Vec<Rate> {
    let rate = |unit, amount, ms| Rate { unit, amount, window: Delay::from_ms(ms) };
    let first = rate(Unit::Requests, world.amount, world.window_ms);
    let short = world.short.map(|(amount, ms)| rate(Unit::Requests, amount, ms));
    let tokens = world.tokens.map(|tokens| rate(Unit::Tokens, tokens.amount, world.window_ms));
    match (short.or(tokens), draws.one_of(&[0, 1, 2])) {
        (None, _) | (Some(_), 0) => vec![first],
        (Some(second), 1) => vec![second],
        (Some(second), _) => vec![first, second],
    }
}

fn changes(world: &World, draws: &mut Draws) -> Changes {
    let limits = world.limits_rate();
    let documents = world.documents as f64;
    let stray = if world.kind == Kind::Unlimited { 0.5 } else { 0.08 };
    Changes {
        strangers: draws.happens(0.08) && limits && world.kind != Kind::Tokens,
        factor: (draws.happens(0.12) && limits && world.known.is_empty()).then(|| draws.one_of(&[0.5, 2.0])),
        faults: if draws.happens(0.08) { draws.one_of(&[0.01, 0.03]) } else { 0.0 },
        fault_hint_s: draws.one_of(&[None, Some(5)]),
        stray: draws.happens(stray).then(|| Stray {
            number: at_least_1(documents * draws.between(0.02, 0.6)),
            hint_s: draws.one_of(&[None, Some(5)]),
        }),
        outage: draws.happens(0.05).then(|| draws.between(0.1, 0.7)),
        poison: if draws.happens(0.06) { draws.one_of(&[1, 2, 3]) } else { 0 },
    }
}

fn at_least_1(value: f64) -> u64 {
    (value as u64).max(1)
}

fn whole_seconds(value: f64) -> u64 {
    value.round().max(1.0) as u64 * 1_000
}

const USUAL_S: [f64; 9] = [1.0, 5.0, 10.0, 30.0, 60.0, 60.0, 60.0, 300.0, 3_600.0];
const KINDS: [Kind; 16] = [
    Kind::Rolling,
    Kind::RollingCounts,
    Kind::RollingCountsSelf,
    Kind::FixedClock,
    Kind::FixedFirst,
    Kind::FixedFirstCounts,
    Kind::Bucket,
    Kind::Nginx,
    Kind::Gcra,
    Kind::Counter,
    Kind::CounterCounts,
    Kind::Haproxy,
    Kind::Concurrency,
    Kind::Two,
    Kind::Tokens,
    Kind::Unlimited,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_world() {
        for seed in 0..64 {
            assert_eq!(format!("{:?}", World::of_seed(seed)), format!("{:?}", World::of_seed(seed)));
        }
        assert_ne!(World::of_seed(0).window_ms, World::of_seed(16).window_ms);
    }

    #[test]
    fn every_document_fits_into_a_window() {
        for world in (0..200).map(|number| World::of_seed(16 * number + 14)) {
            let most = world.tokens.unwrap().amount;
            assert!(world.job().iter().all(|document| (1..=most).contains(&document.tokens)));
        }
    }

    #[test]
    fn as_many_documents_are_poison_as_it_says() {
        for world in (0..200).map(World::of_seed) {
            let poison = world.job().iter().filter(|document| document.is_poison).count();
            assert_eq!(poison, world.changes.poison, "{world}");
        }
    }
}
