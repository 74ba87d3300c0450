//! Whether going slower helps. Where others use the key too, and a bucket has room for one request only, some are refused
//! at any pace: slowing down would never end.

use crate::time::Delay;

#[derive(Debug, Default)]
pub(super) struct Slowing {
    series: Option<Series>,
    /// So many more refusals slow nothing down.
    spared: u32,
    /// How often slowing down did not help, in a row.
    futile: u32,
}

/// Slow-downs from one pace on.
#[derive(Debug)]
struct Series {
    /// The window of one request when it began.
    from: Delay,
    /// Admissions and refusals near to that pace, and far from it.
    near: Share,
    far: Share,
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    admitted: u64,
    refused: u64,
}

/// What a refusal does to the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It slows down.
    Slows,
    /// Nothing: it would not help.
    None,
    /// Going slower did not help: back to this window of one request.
    Back(Delay),
}

impl Slowing {
    /// A refusal after so many admissions at a pace of one request per `slot`.
    pub(super) fn refused(&mut self, slot: Delay, admitted: u64) -> Effect {
        if self.spared > 0 {
            self.spared -= 1;
            return Effect::None;
        }
        let series = self.series.get_or_insert(Series { from: slot, near: Share::default(), far: Share::default() });
        if slot.times(5) < series.from.times(7) {
            series.near.add(admitted);
        } else if slot >= series.from.times(if series.near.refused >= LEAST { FAR } else { VERY_FAR }) {
            series.far.add(admitted);
        }
        let is_comparable = series.near.refused >= LEAST;
        let slower = if is_comparable { SLOWER } else { MUCH_SLOWER };
        if slot < series.from.times(slower) || series.far.refused < LEAST {
            return Effect::Slows;
        }
        let Some(Series { from, near, far }) = self.series.take() else { return Effect::Slows };
        let has_helped = if is_comparable { far.is_rarer_than(near) } else { far.admitted > 4 * far.refused };
        // Where half is refused, the pace is still too fast.
        if far.admitted <= far.refused || has_helped {
            self.futile = 0;
            return Effect::Slows;
        }
        self.spared = SPARED << self.futile.min(4);
        self.futile += 1;
        Effect::Back(from)
    }
}

impl Share {
    fn add(&mut self, admitted: u64) {
        self.admitted = self.admitted.saturating_add(admitted);
        self.refused += 1;
    }

    /// Whether a smaller part was refused: two thirds of that, or less.
    fn is_rarer_than(self, other: Self) -> bool {
        let all = |share: Self| u128::from(share.admitted) + u128::from(share.refused);
        3 * u128::from(self.refused) * all(other) <= 2 * u128::from(other.refused) * all(self)
    }
}

/// It is judged when the pace is a quarter of what it was, by so many refusals at least; at a sixteenth, where there
/// were fewer before. Only what came of the slowest is counted.
const SLOWER: u64 = 4;
const FAR: u64 = 3;
const MUCH_SLOWER: u64 = 16;
const VERY_FAR: u64 = 10;
const LEAST: u64 = 3;
const SPARED: u32 = 32;
