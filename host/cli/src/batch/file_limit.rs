//! How many files and sockets the system lets this process have: many in flight need more than the usual 1,024.

use becalm::Settings;

/// Each request in flight takes a descriptor: lets the process have as many as it may, and fewer be in flight where that is
/// not enough. Says what was lowered.
pub(crate) fn cap(settings: &mut Settings) -> Option<String> {
    let (wanted, most) = (settings.limits.max_in_flight, u32::try_from(raise()).unwrap_or(u32::MAX).max(1));
    settings.limits.max_in_flight = wanted.min(most);
    (wanted > most)
        .then(|| format!("{most} requests in flight instead of {wanted}: the system allows no more files (ulimit -n)"))
}

/// Raises the limit as far as it goes without rights, and says how many requests can be in flight under it.
#[cfg(unix)]
fn raise() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let allowed = if raised.is_ok() { maximum } else { current };
    allowed.unwrap_or(u64::MAX).saturating_sub(RESERVE)
}

#[cfg(not(unix))]
const fn raise() -> u64 {
    u64::MAX
}

/// For inputs, results, the event log, and what libraries open.
#[cfg(unix)]
const RESERVE: u64 = 64;
