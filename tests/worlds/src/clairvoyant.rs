//! The clairvoyant: how long a job takes for who knows the server. What disturbs a world is set by the share of that time.

use crate::admission::Admission;
use crate::pacing::{Arrival, Client, pace};
use crate::schedule::Schedule;
use crate::world::{Document, World};

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
    pace(world, &mut Clairvoyant(Admission::new(world, schedule)))
}

/// Knows the server, and which documents are bad.
#[derive(Debug)]
struct Clairvoyant(Admission);

impl Client for Clairvoyant {
    fn arrive(&mut self, from_ms: u64, document: Document) -> Option<Arrival> {
        if document.is_poison {
            return None;
        }
        let at_ms = self.0.earliest(from_ms, document.tokens);
        self.0.admit(at_ms, document.tokens);
        Some(Arrival { at_ms, refusal: None })
    }
}

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
