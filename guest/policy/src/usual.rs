//! What providers have in common.

use crate::time::Delay;

/// The windows that they enforce, the shortest first.
pub(crate) const USUAL_WINDOWS: [Delay; 7] = [
    Delay::from_secs(1),
    Delay::from_secs(10),
    Delay::from_secs(30),
    Delay::from_secs(60),
    Delay::from_secs(300),
    Delay::from_secs(600),
    Delay::from_secs(3_600),
];
/// How much too long a wait may be that they state: `Date` is rounded down, the date in `Retry-After` up.
pub(crate) const ROUNDING: Delay = Delay::from_secs(2);
