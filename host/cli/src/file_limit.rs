//! How many files and sockets the system lets this process have: many in flight need more than the usual 1,024.

/// Raises the limit as far as it goes without rights, and says how many requests can be in flight under it.
#[cfg(unix)]
pub(crate) fn raise() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let allowed = if raised.is_ok() { maximum } else { current };
    allowed.unwrap_or(u64::MAX).saturating_sub(RESERVE)
}

#[cfg(not(unix))]
pub(crate) const fn raise() -> u64 {
    u64::MAX
}

/// For inputs, results, the event log, and what libraries open.
#[cfg(unix)]
const RESERVE: u64 = 64;
