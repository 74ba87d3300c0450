//! Limits that were set or stated: one refusal does not overrule them, and margins go back.

use becalm_policy::Delay;
use proptest::prelude::*;

use crate::endpoint::Model;
use crate::run::Run;
use crate::shares::short_of;
use crate::worlds::{Turn, World, between, limit, world};

/// Where a rolling log of that limit is never refused.
fn known_world() -> impl Strategy<Value = World> {
    let is_kept = |model: &Model| !matches!(model, Model::Bucket { amount, burst, .. } if burst < amount);
    let known = world(limit().prop_filter("a smaller burst is another limit", is_kept));
    (known, any::<bool>()).prop_map(|(world, is_stated)| match world.model.rate() {
        // Headers state whole seconds.
        Some((amount, window)) if is_stated => {
            let window = Delay::from_secs(window.as_ms().div_ceil(1_000));
            let model = match world.model {
                Model::Fixed { .. } => Model::Fixed { amount, window },
                Model::Bucket { .. } => Model::Bucket { amount, window, burst: amount },
                _ => Model::Rolling { amount, window },
            };
            World { model, is_stated, ..world }
        }
        _ => world.known(),
    })
}

fn rolling_world() -> impl Strategy<Value = World> {
    world((between(2, 60), between(1_000, 30_000)).prop_map(|(amount, window)| Model::Rolling {
        amount: amount.min(window / 20),
        window: Delay::from_ms(window),
    }))
    .prop_map(World::known)
}

fn hint() -> impl Strategy<Value = Option<Delay>> {
    proptest::option::of(between(1, 120_000).prop_map(Delay::from_ms))
}

/// One request is refused for no reason.
fn refuse_one(run: &mut Run, after: u64, hint: Option<Delay>) {
    let before = std::iter::repeat_n(Turn::Through, after as usize);
    run.turns = before.chain([Turn::Reply { status: 429, hint }]).collect();
}

/// A run in which the limit is known.
fn run_of(world: &World, documents: u64) -> Run {
    let mut run = Run::new(world.clone(), documents);
    if world.is_stated {
        // The first answers state it, and the first burst is over.
        run.settle(2, Delay::ZERO);
    }
    run
}

fn time_of(world: &World, documents: u64, stray: Option<(u64, Option<Delay>)>) -> Delay {
    let mut run = run_of(world, documents);
    let began = run.now.tick;
    if let Some((after, hint)) = stray {
        refuse_one(&mut run, after, hint);
    }
    run.go_while(|_| true);
    assert_eq!(run.answered, documents);
    run.answered_at.since(began)
}

#[test]
fn one_refusal_costs_its_hint_and_a_window() {
    let samples = (known_world(), 4..9_u64, 0.0..1.0, hint());
    let spared = |(world, windows, part, hint): &(World, u64, f64, Option<Delay>)| {
        let (amount, window) = world.model.rate().unwrap();
        let documents = (amount * windows).clamp(2, 190);
        let stray = ((documents as f64 * part) as u64, *hint);
        let (with, without) = (time_of(world, documents, Some(stray)), time_of(world, documents, None));
        let most = without + without.divided_by(50) + hint.unwrap_or_default() + window + window.divided_by(50) + SLACK;
        most.as_ms() as f64 - with.as_ms() as f64
    };
    short_of(samples, 400, 0.0, spared).assert_at_most(COST_MORE);
}

#[test]
fn after_one_refusal_the_pace_is_that_of_the_known_limit() {
    let samples = (known_world(), 0..300_u64, hint());
    let pace = |(world, after, hint): &(World, u64, Option<Delay>)| {
        let mut run = run_of(world, u64::MAX);
        refuse_one(&mut run, *after, *hint);
        run.go_while(|run| !run.turns.is_empty());
        run.go_on(hint.unwrap_or_default() + SLACK + world.window());
        run.pace(8)
    };
    short_of(samples, 400, 0.9, pace).assert_at_most(SLOWER_AFTER_ONE);
}

/// Arrival varies as much as a margin can cover.
fn with_jitter(world: &World) -> World {
    World { jitter: MOST_MARGIN.min(world.window().divided_by(4)), ..world.clone() }
}

#[test]
fn what_a_margin_explains_teaches_nothing() {
    let silence = |world: &World| {
        let mut run = Run::new(with_jitter(world), u64::MAX);
        run.settle(12, Delay::ZERO);
        f64::from(run.learnt().is_none())
    };
    short_of(rolling_world(), 400, 1.0, silence).assert_at_most(TAUGHT_BY_JITTER);
}

#[test]
fn with_a_margin_the_pace_is_what_it_leaves() {
    let pace = |world: &World| {
        let world = with_jitter(world);
        let mut run = Run::new(world.clone(), u64::MAX);
        run.settle(12, Delay::ZERO);
        let window = world.window();
        run.pace(10) * (window + world.jitter.times(2)).as_ms() as f64 / window.as_ms() as f64
    };
    short_of(rolling_world(), 400, 0.95, pace).assert_at_most(SLOWER_WITH_JITTER);
}

#[test]
fn a_margin_that_is_not_needed_any_more_shrinks() {
    let pace = |world: &World| {
        let mut run = Run::new(with_jitter(world), u64::MAX);
        run.settle(12, Delay::ZERO);
        run.world.jitter = Delay::ZERO;
        run.settle(SHRINKS_IN, SHRINKS_IN_AT_LEAST);
        run.pace(20)
    };
    // A fiftieth is left, and a millisecond.
    short_of(rolling_world(), 400, 0.979, pace).assert_at_most(NOT_SHRUNK);
}

/// Of a thousand samples, so many fall short, as measured: to be lowered, not raised. All should be nothing.
const COST_MORE: u32 = 0;
const SLOWER_AFTER_ONE: u32 = 5;
const TAUGHT_BY_JITTER: u32 = 190;
const SLOWER_WITH_JITTER: u32 = 0;
const NOT_SHRUNK: u32 = 45;
/// The spread on top of a hint is 2 s at most, a look without one takes a round trip, and slow start a few.
const SLACK: Delay = Delay::from_secs(4);
/// As the limiter has it.
const MOST_MARGIN: Delay = Delay::from_ms(700);
/// A quarter less after four windows or 20 s, from a quarter of the window to a fiftieth: nine times.
const SHRINKS_IN: u64 = 40;
const SHRINKS_IN_AT_LEAST: Delay = Delay::from_secs(200);
