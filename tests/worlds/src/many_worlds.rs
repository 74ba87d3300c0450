//! Many worlds on all cores. What comes out does not depend on how many there are.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use becalm_policy::learner::Rules;

use crate::obedient::obedient_ms;
use crate::play::play_watched;
use crate::played::Played;
use crate::schedule::Schedule;
use crate::world::World;

/// A world and how it went.
#[derive(Clone, Debug)]
pub struct Case {
    /// The world.
    pub world: World,
    /// How it went.
    pub played: Played,
    /// The time of the obedient clairvoyant.
    pub obedient_ms: u64,
}

impl Case {
    /// Plays a world; a panic of the policy is a failure of it.
    pub fn of(world: World) -> Self {
        let schedule = Schedule::of(&world);
        Self::scheduled(world, &schedule)
    }

    fn scheduled(world: World, schedule: &Schedule) -> Self {
        let played = catch_unwind(AssertUnwindSafe(|| play_watched(&world, schedule, &mut |_, _| {})));
        let played = played.unwrap_or_else(|panic| Played {
            schedule: *schedule,
            documents: world.documents - world.changes.poison,
            failure: Some(format!("it panicked: {}", words(panic.as_ref()))),
            ..Played::default()
        });
        let obedient_ms = obedient_ms(&world, schedule);
        Self { world, played, obedient_ms }
    }

    /// The efficiency that nobody exceeds who obeys hints and does not know the server, but for luck.
    pub fn best(&self) -> f64 {
        self.played.schedule.ideal_ms as f64 / self.obedient_ms as f64
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default()
}

/// The worlds of so many seeds, without those that are over at once; the client learns by these rules.
pub fn play_seeds(from: u64, count: usize, rules: Rules) -> Vec<Case> {
    let case = |number| {
        let world = World { rules, ..World::of_seed(from + number as u64) };
        let schedule = Schedule::of(&world);
        (schedule.ideal_ms >= LEAST_IDEAL_MS).then(|| Case::scheduled(world, &schedule))
    };
    on_all_cores(count, case).into_iter().flatten().collect()
}

/// Each of these worlds with some seeds, which also start at other instants.
pub(crate) fn play_variants(worlds: &[World]) -> Vec<Vec<Case>> {
    let variant = |world: &World, seed: u64| World {
        seed,
        phase_ms: (world.phase_ms + PHASE_STEP_MS * seed) % world.window_ms,
        ..world.clone()
    };
    let case = |number| Case::of(variant(&worlds[number / VARIANTS], (number % VARIANTS) as u64));
    let mut cases = on_all_cores(worlds.len() * VARIANTS, case).into_iter();
    worlds.iter().map(|_| cases.by_ref().take(VARIANTS).collect()).collect()
}

/// What `job` makes of each number, in their order.
fn on_all_cores<T: Send>(count: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = job(number);
            done.lock().expect("no job panics with it").push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().expect("no job panics with it");
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// In less time there is nothing to learn.
const LEAST_IDEAL_MS: u64 = 5_000;
const VARIANTS: usize = 5;
const PHASE_STEP_MS: u64 = 17_300;
