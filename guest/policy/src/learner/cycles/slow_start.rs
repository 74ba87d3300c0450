//! At first and after a pause, requests go in groups, each when the one before was not refused: a burst would be refused
//! as a whole.

use crate::time::{Delay, Tick};

#[derive(Debug, Default)]
pub(super) struct SlowStart(Option<Group>);

#[derive(Debug)]
struct Group {
    size: usize,
    left: usize,
    /// When all that went is known not to be refused.
    settled_at: Tick,
}

impl SlowStart {
    pub(super) const fn begin() -> Self {
        Self(Some(Group { size: FIRST, left: FIRST, settled_at: Tick::from_ms(0) }))
    }

    /// When the next may go. Groups grow by half, or to twice their size where the pace is known, up to twice as many as
    /// may be on the wire: beyond, the wire is the limit.
    pub(super) fn next_at(&mut self, now: Tick, on_wire_at_most: usize, is_paced: bool) -> Tick {
        let Some(group) = self.0.as_mut().filter(|group| group.left == 0) else { return now };
        if now < group.settled_at {
            return group.settled_at;
        }
        let larger = if is_paced { 2 * group.size } else { group.size + (group.size / 2).max(1) };
        self.0 = (group.size < 2 * on_wire_at_most).then_some(Group { size: larger, left: larger, settled_at: now });
        now
    }

    pub(super) fn sent(&mut self, now: Tick, silence: Delay) {
        if let Some(group) = &mut self.0 {
            group.left = group.left.saturating_sub(1);
            group.settled_at = group.settled_at.max(now + silence);
        }
    }
}

const FIRST: usize = 2;
