//! The time that a batch could have taken at best.

use std::time::Duration;

use becalm::outcomes::bound;
use becalm::{Admits, Limit, LimitSource};

/// The best possible time of so many documents, and whether it follows from what was learnt: where a limit was set or stated,
/// that alone counts, so that a wrong lesson cannot praise itself.
pub(crate) fn best_time(limits: &[Limit], documents: u64, max_in_flight: u32, latency: Duration) -> (Duration, bool) {
    let (learnt, stated) = limits.iter().partition::<Vec<_>, _>(|limit| limit.source == LimitSource::Refusals);
    let is_learnt = stated.is_empty() && !learnt.is_empty();
    let counted: Vec<&Limit> = if is_learnt { learnt } else { stated };
    let admits = || counted.iter().map(|limit| &limit.admits);
    let rates = admits().filter_map(Admits::rate).collect::<Vec<_>>();
    let in_flight = admits().filter_map(Admits::in_flight).chain([max_in_flight]).min();
    (bound(documents, &rates, in_flight.unwrap_or(1), latency), is_learnt)
}
