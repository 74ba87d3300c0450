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
    /// When it was answered, and the tokens that it really took.
    pub(crate) answered: Option<(Tick, u64)>,
}

impl Sent {
    /// What it takes of a limit.
    pub(crate) const fn cost(&self, unit: Unit) -> u64 {
        unit.cost(self.tokens)
    }
}

impl History {
    pub(crate) fn sent(&mut self, ticket: Ticket, at: Tick, tokens: u64) {
        if self.0.len() == MOST_ENTRIES {
            self.0.pop_front();
        }
        self.0.push_back(Sent { ticket, at, tokens, refused_at: None, answered: None });
    }

    pub(crate) fn refused(&mut self, ticket: Ticket, now: Tick) {
        if let Some(index) = self.index(ticket) {
            self.0[index].refused_at = Some(now);
        }
    }

    pub(crate) fn answered(&mut self, ticket: Ticket, now: Tick, tokens: Option<u64>) {
        if let Some(index) = self.index(ticket) {
            self.0[index].answered = tokens.map(|tokens| (now, tokens));
        }
    }

    /// The tokens in the window that ended when this request was sent: as they were reserved, and with those replaced by
    /// what was really taken that had been answered by then.
    pub(crate) fn tokens_at(&self, last: Ticket, window: Delay) -> Option<(u64, u64)> {
        let end = self.sent_at(last)?;
        let before = self.iter().rev().skip_while(|sent| sent.ticket > last);
        let inside = before.take_while(|sent| sent.at + window > end).filter(|sent| sent.refused_at.is_none());
        Some(inside.fold((0, 0), |(reserved, settled), sent| {
            let taken = sent.answered.filter(|(at, _)| *at <= end).map_or(sent.tokens, |(_, tokens)| tokens);
            (reserved + sent.tokens, settled + taken)
        }))
    }

    /// All that is still remembered.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Sent> {
        self.0.iter()
    }

    /// The rate that explains why a request is refused now: what was admitted before it, in the time from the oldest of
    /// those to the instant that the hint names. Nothing, if nothing was admitted.
    pub(crate) fn explain(&self, hint: Delay, now: Tick) -> Option<Rate> {
        let horizon = hint.max(HORIZON);
        let (oldest, amount) = self.admitted(horizon, now)?;
        Some(Rate { unit: Unit::Requests, amount, window: usual_near(hint + now.since(oldest)) })
    }

    /// The same where the endpoint gave no hint. The window is longer than the time from the oldest to the last request
    /// that was refused, and at most that to the first that was admitted after it; a usual length between is taken to be it.
    pub(crate) fn explain_by_answer(&self, refused_at: Tick, admitted: Ticket) -> Option<Rate> {
        let (oldest, amount) = self.admitted(HORIZON, refused_at)?;
        let most = self.0[self.index(admitted)?].at.since(oldest);
        let last_refused = self.iter().rev().find(|sent| sent.ticket < admitted && sent.refused_at.is_some())?;
        let least = last_refused.at.since(oldest);
        let usual = USUAL_WINDOWS.iter().copied().find(|usual| least < *usual && *usual <= most);
        Some(Rate { unit: Unit::Requests, amount, window: usual.unwrap_or(most) })
    }

    /// Of the latest requests up to this one that were admitted and took so much, the oldest; nothing if they took less.
    pub(crate) fn oldest_of(&self, unit: Unit, used: u64, last: Ticket) -> Option<Tick> {
        let mut taken = 0;
        let mut admitted = self.iter().rev().filter(|sent| sent.ticket <= last && sent.refused_at.is_none());
        admitted.find_map(|sent| {
            taken += sent.cost(unit);
            (taken >= used).then_some(sent.at)
        })
    }

    /// How many of the requests from this one on, sent since then, were not refused.
    pub(crate) fn admitted_since(&self, since: Tick, first: Ticket) -> u64 {
        let recent = self.iter().rev().take_while(|sent| sent.at >= since && sent.ticket >= first);
        recent.filter(|sent| sent.refused_at.is_none()).count() as u64
    }

    /// When this request was sent, if it is still remembered.
    pub(crate) fn sent_at(&self, ticket: Ticket) -> Option<Tick> {
        self.index(ticket).map(|index| self.0[index].at)
    }

    fn index(&self, ticket: Ticket) -> Option<usize> {
        self.0.binary_search_by_key(&ticket, |sent| sent.ticket).ok()
    }

    /// When the oldest of the requests was sent that a refusal is blamed on which came then, and how many they are: all that
    /// were on their way by then, since they may arrive in another order, and were not refused too.
    fn admitted(&self, horizon: Delay, refused_at: Tick) -> Option<(Tick, u64)> {
        let before = self.iter().filter(|sent| sent.at <= refused_at && sent.refused_at.is_none());
        let mut recent = before.filter(|sent| refused_at.since(sent.at) <= horizon);
        let oldest = recent.next()?.at;
        Some((oldest, 1 + recent.count() as u64))
    }
}

/// Hints are rounded up, dates by up to two seconds, so a window comes out too long, or a little too short where requests
/// were not on their way for the same time; if there is a usual one so near, it is that.
pub(crate) fn usual_near(window: Delay) -> Delay {
    let above = ROUNDING.min(window.divided_by(20));
    let below = window.divided_by(100);
    let is_near = |usual: &Delay| window <= *usual + above && *usual <= window + below;
    USUAL_WINDOWS.iter().copied().find(is_near).unwrap_or(window)
}

/// `Date` is rounded down, the date in `Retry-After` up.
const ROUNDING: Delay = Delay::from_secs(2);
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
