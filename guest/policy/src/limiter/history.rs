//! What was sent lately and what came of it: the evidence from which a limit is learnt that nobody stated.

use alloc::collections::VecDeque;

use crate::limiter::rolling_log::Ticket;
use crate::settings::{Rate, Unit};
use crate::time::{Delay, Tick};

/// The latest requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<Sent>);

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) ticket: Ticket,
    pub(crate) at: Tick,
    pub(crate) tokens: u64,
    pub(crate) refused_at: Option<Tick>,
}

impl History {
    pub(crate) fn sent(&mut self, ticket: Ticket, at: Tick, tokens: u64) {
        if self.0.len() == MOST_ENTRIES {
            self.0.pop_front();
        }
        self.0.push_back(Sent { ticket, at, tokens, refused_at: None });
    }

    pub(crate) fn refused(&mut self, ticket: Ticket, now: Tick) {
        if let Some(index) = self.index(ticket) {
            self.0[index].refused_at = Some(now);
        }
    }

    /// All that is still remembered.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Sent> {
        self.0.iter()
    }

    /// The rate that explains why this request was refused: what was admitted before it, in the time from the oldest of
    /// those to the instant that the hint names. Nothing, if nothing was admitted.
    pub(crate) fn explain(&self, refused: Ticket, hint: Delay, now: Tick) -> Option<Rate> {
        let horizon = hint.max(HORIZON);
        let (oldest, amount) = self.admitted(refused, horizon, now)?;
        Some(Rate { unit: Unit::Requests, amount, window: hint + now.since(oldest) })
    }

    /// The same where the endpoint gave no hint. The window is longer than the time from the oldest to the last request
    /// that was refused, and at most that to the first that was admitted after it; a usual length between is taken to be it.
    pub(crate) fn explain_by_answer(&self, refused: Ticket, refused_at: Tick, admitted: Ticket) -> Option<Rate> {
        let (oldest, amount) = self.admitted(refused, HORIZON, refused_at)?;
        let most = self.0[self.index(admitted)?].at.since(oldest);
        let last_refused = self.iter().rev().find(|sent| sent.ticket < admitted && sent.refused_at.is_some())?;
        let least = last_refused.at.since(oldest);
        let usual = USUAL_WINDOWS.iter().copied().find(|usual| (least..=most).contains(usual));
        Some(Rate { unit: Unit::Requests, amount, window: usual.unwrap_or(most) })
    }

    /// Of the `used` latest requests up to this one that were admitted, the oldest; the oldest of all if there are fewer.
    pub(crate) fn oldest_of(&self, used: u64, last: Ticket) -> Option<Tick> {
        let used = usize::try_from(used).ok()?;
        let admitted = self.iter().rev().filter(|sent| sent.ticket <= last && sent.refused_at.is_none());
        admitted.take(used).last().map(|sent| sent.at)
    }

    /// How many requests, up to this one, were in the window that ended when it was sent, if they were not refused.
    pub(crate) fn used_at(&self, last: Ticket, window: Delay) -> Option<u64> {
        let end = self.index(last).map(|index| self.0[index].at)?;
        let before = self.iter().rev().skip_while(|sent| sent.ticket > last);
        let inside = before.take_while(|sent| sent.at + window > end);
        Some(inside.filter(|sent| sent.refused_at.is_none()).count() as u64)
    }

    /// How many of the requests sent since then were not refused.
    pub(crate) fn admitted_since(&self, since: Tick) -> u64 {
        let recent = self.iter().rev().take_while(|sent| sent.at >= since);
        recent.filter(|sent| sent.refused_at.is_none()).count() as u64
    }

    fn index(&self, ticket: Ticket) -> Option<usize> {
        self.0.binary_search_by_key(&ticket, |sent| sent.ticket).ok()
    }

    /// When the oldest of the requests was sent that this one's refusal is blamed on, and how many they are.
    fn admitted(&self, refused: Ticket, horizon: Delay, now: Tick) -> Option<(Tick, u64)> {
        let before = self.iter().filter(|sent| sent.ticket < refused && sent.refused_at.is_none());
        let mut recent = before.filter(|sent| now.since(sent.at) <= horizon);
        let oldest = recent.next()?.at;
        Some((oldest, 1 + recent.count() as u64))
    }
}

/// Without a longer hint, requests older than this are not blamed for a refusal: a minute is the window that most
/// providers state.
const HORIZON: Delay = Delay::from_secs(60);
/// The windows that providers enforce. On the reference job full jitter alone finds a window of 60 s after 7 probes, at
/// 94 s; these find it with the third, at 63 to 65 s.
pub(crate) const USUAL_WINDOWS: [Delay; 7] = [
    Delay::from_secs(1),
    Delay::from_secs(10),
    Delay::from_secs(30),
    Delay::from_secs(60),
    Delay::from_secs(300),
    Delay::from_secs(600),
    Delay::from_secs(3_600),
];
/// 4 MiB. A limit above so many requests per window is not learnt from refusals exactly.
const MOST_ENTRIES: usize = 100_000;
