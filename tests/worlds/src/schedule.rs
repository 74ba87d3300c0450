//! The clairvoyant: how long a job takes for who knows the server. What disturbs a world is set by the share of that time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::admission::Admission;
use crate::times::Times;
use crate::world::World;

/// When what happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The time of the clairvoyant.
    pub ideal_ms: u64,
    /// When the limit changes.
    pub change_at_ms: Option<u64>,
    /// When the server is gone for 30 s.
    pub outage_at_ms: Option<u64>,
}

impl Schedule {
    /// The schedule of a world.
    pub fn of(world: &World) -> Self {
        let calm_ms = exact_pacing(world, &Self::default());
        let after = |share: f64| (calm_ms as f64 * share).round() as u64;
        let schedule = Self {
            ideal_ms: calm_ms,
            change_at_ms: world.changes.factor.map(|_| after(CHANGE_AFTER)),
            outage_at_ms: world.changes.outage.map(after),
        };
        if schedule.change_at_ms.or(schedule.outage_at_ms).is_none() {
            return schedule;
        }
        Self { ideal_ms: exact_pacing(world, &schedule), ..schedule }
    }
}

/// The time of a job whose every request arrives as soon as a place on the wire is free, the one before it has arrived and
/// the server admits it.
fn exact_pacing(world: &World, schedule: &Schedule) -> u64 {
    let mut admission = Admission::new(world, schedule);
    let times = Times::of(world);
    let delay_ms = times.mean_delay_ms();
    let places = world.cap.unwrap_or(u32::MAX).min(world.max_in_flight);
    let mut free_at = BinaryHeap::from(vec![Reverse(0); places as usize]);
    let (mut last_ms, mut end_ms) = (0, 0);
    for (number, document) in world.job().iter().filter(|document| !document.is_poison).enumerate() {
        let Reverse(free_ms) = free_at.pop().unwrap_or_default();
        last_ms = admission.earliest(last_ms.max(free_ms + delay_ms), document.tokens);
        admission.admit(last_ms, document.tokens);
        let answered_ms = last_ms + times.ideal_service_ms(number as u64) + delay_ms;
        free_at.push(Reverse(answered_ms));
        end_ms = end_ms.max(answered_ms);
    }
    end_ms
}

pub(crate) const OUTAGE_MS: u64 = 30_000;
const CHANGE_AFTER: f64 = 0.35;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Changes, Kind};

    /// 50 documents, 10 per minute: the last of the fifth window, its answer after 200 ms, and the way there and back.
    #[test]
    fn the_clairvoyant_is_exact() {
        assert_eq!(Schedule::of(&World::plain(Kind::Rolling, 10, 60_000)).ideal_ms, 240_000 + 200 * 2 + 2 * 2);
    }

    #[test]
    fn a_change_comes_after_a_third_of_the_time() {
        let changes = Changes { factor: Some(0.5), ..Changes::default() };
        let schedule = Schedule::of(&World { changes, ..World::plain(Kind::Rolling, 10, 60_000) });
        assert!((80_000..90_000).contains(&schedule.change_at_ms.unwrap()), "{schedule:?}");
        assert!(schedule.ideal_ms > 330_000, "{schedule:?}");
    }
}
