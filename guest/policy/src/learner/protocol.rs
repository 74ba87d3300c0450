//! What is told to whoever learns a limit, and what is asked.

use core::fmt;

use crate::belief::Limit;
use crate::settings::Rate;
use crate::time::{Delay, Tick};

/// Names a request that was sent; later requests have larger ones.
pub type Ticket = u64;

/// Learns from admissions and refusals how fast an endpoint may be asked.
///
/// Call order: [`turn`](Self::turn) as often as wanted; [`sent`](Self::sent) for each request that goes; then exactly one
/// of [`admitted`](Self::admitted), [`refused`](Self::refused) and [`withdrawn`](Self::withdrawn) for it. `now` does not
/// go back from call to call. What is asked for has to be answered at once, in constant time on average.
pub trait Learner: fmt::Debug {
    /// Whether the next request may go now, with so many on the wire and so many documents waiting.
    fn turn(&mut self, now: Tick, on_wire: usize, waiting: usize) -> Turn;

    /// A request goes out beside so many others. What comes back has to be handed in with what becomes of it.
    fn sent(&mut self, ticket: Ticket, now: Tick, others: usize) -> Sent;

    /// It was answered.
    fn admitted(&mut self, sent: Sent, now: Tick);

    /// It was refused because of a rate.
    fn refused(&mut self, sent: Sent, refusal: Refused, now: Tick);

    /// It ended without telling anything about a rate.
    fn withdrawn(&mut self, sent: Sent, now: Tick);

    /// The endpoint is out: the time until it is back says nothing of a rate.
    fn interrupted(&mut self);

    /// Nothing goes before that, whatever else is believed.
    fn pause_until(&mut self, until: Tick);

    /// Whether nothing was amiss when this request went: the gate was open, and it was no probe and no trial. Where such a
    /// one is refused again and again while others pass, the document is to blame.
    fn is_ordinary(&self, sent: Sent) -> bool;

    /// Nothing goes before that.
    fn opens_at(&self) -> Tick;

    /// What is believed now: a limit learnt from refusals.
    fn belief(&self) -> Option<Limit>;
}

/// When the next request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Now.
    Go,
    /// Not before that, for this reason.
    Wait(Tick, Reason),
    /// When one of those on the wire has ended.
    AfterAnswer,
}

/// Why a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The gate is closed after a refusal.
    Refused,
    /// What was sent a moment ago has to show first whether it is admitted.
    Probing,
    /// The endpoint admits so much.
    Limit(Rate),
}

/// A request on the wire, as its learner needs to know it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its name.
    pub ticket: Ticket,
    /// When it went.
    pub at: Tick,
    /// How often the gate had closed by then: of one episode of refusals only the first teaches.
    pub episode: u32,
    /// Requests that were on the wire beside it.
    pub others: usize,
}

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What the endpoint says about waiting; more than nothing.
    pub hint: Option<Delay>,
    /// Added to every wait that is not short, so that several clients do not come back in step.
    pub spread: Delay,
    /// Whether an exact log explains it: then nothing else has to be learnt from it.
    pub is_explained: bool,
    /// Whether the endpoint says that it limits how many are on the wire.
    pub names_places: bool,
    /// The tightest limit on requests that was set or stated.
    pub known: Option<Rate>,
    /// Requests that are still on the wire.
    pub on_wire: usize,
    /// Documents that wait.
    pub waiting: usize,
}
