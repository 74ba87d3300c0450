//! The state machine: documents and replies go in, actions come out. It has no clock, no chance and no socket.

mod action;
mod faults;
mod halting;
mod progress;
mod refusals;
mod replies;
mod sending;

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::{String, ToString};

use slab::Slab;

pub use self::action::{Action, DocumentKey, News, Pause, PauseReason, Refusal, Trouble};
use self::progress::{Progress, State};
use crate::allowance::Allowance;
use crate::backoff::Backoff;
use crate::belief::{Admits, Limit};
use crate::gate::Gate;
use crate::learner::{Cycles, Learner, Rules};
use crate::limiter::{Known, Limiter};
use crate::outcome::{Ending, Failure, PostponeReason, Postponement};
use crate::retry_budget::RetryBudget;
use crate::settings::{LARGEST_COUNT, Settings};
use crate::time::{Now, Tick};

/// Brings documents through a rate limit.
///
/// Call [`submit`](Self::submit) for each document, at any time. Then, again and again: call
/// [`next_action`](Self::next_action) and carry it out until it says `Wait` or `Idle`; wait for that instant or for a
/// request to end; tell what happened with [`handle_reply`](Self::handle_reply) or
/// [`handle_transport_error`](Self::handle_transport_error). Every document gets exactly one `Finish`. `now.tick` must
/// not go back from call to call.
#[derive(Debug)]
pub struct Machine {
    settings: Settings,
    backoff: Backoff,
    retry_budget: RetryBudget,
    documents: Slab<Progress>,
    /// Documents that can go, in this order.
    queue: VecDeque<DocumentKey>,
    /// Documents that back off, by the end of it.
    backing_off: BTreeSet<(Tick, DocumentKey)>,
    /// Documents on the wire, by the instant at which they have taken too long.
    in_flight: BTreeSet<(Tick, DocumentKey)>,
    gate: Gate,
    allowance: Allowance,
    limiter: Limiter,
    learner: Cycles,
    /// As it was told last.
    told: Option<Limit>,
    /// The latest answer, and as it was when a document was last suspected to be refused whatever happens.
    answered_at: Option<Tick>,
    suspected_at: Option<Tick>,
    /// When the latest request went that was answered.
    answered_sent_at: Option<Tick>,
    /// What the endpoint said of the latest refusal; empty after an answer.
    last_words: String,
    /// Of the first documents, while none was answered: successes that were no answer, and how many in a row were rejected
    /// with which words.
    unusable: u32,
    rejected: Option<(String, u32)>,
    /// Requests that were denied in a row, without an answer in between.
    denials: u32,
    /// Tokens of the largest document that was answered.
    largest_answered: u64,
    /// Decided, not yet handed out.
    decided: VecDeque<Action>,
    pause: Option<Pause>,
    is_pause_told: bool,
    /// The first refusal, or request that did not get through, since the last answer; patience counts from here.
    fruitless_since: Option<Tick>,
    ended: Option<Postponement>,
    ignored: BTreeSet<&'static str>,
    tally: Tally,
}

/// How many documents and requests ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Documents that were answered.
    pub answered: u64,
    /// Documents that failed.
    pub failed: u64,
    /// Documents that were postponed.
    pub postponed: u64,
    /// Requests that were refused.
    pub refusals: u64,
}

impl Machine {
    /// A machine without documents. Settings are taken as they are: check them first.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self::with_rules(settings, seed, Rules::ALL)
    }

    /// The same with fewer rules of learning, to measure what they are worth.
    pub fn with_rules(settings: Settings, seed: u64, rules: Rules) -> Self {
        Self {
            learner: Cycles::new(settings.max_in_flight as usize, rules),
            told: None,
            answered_at: None,
            suspected_at: None,
            answered_sent_at: None,
            last_words: String::new(),
            unusable: 0,
            rejected: None,
            denials: 0,
            largest_answered: 0,
            backoff: Backoff::new(&settings, seed),
            retry_budget: RetryBudget::new(),
            limiter: Limiter::new(&settings),
            documents: Slab::new(),
            queue: VecDeque::new(),
            backing_off: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            gate: Gate::default(),
            allowance: Allowance::new(settings.max_in_flight),
            decided: VecDeque::new(),
            pause: None,
            is_pause_told: false,
            fruitless_since: None,
            ended: None,
            ignored: BTreeSet::new(),
            tally: Tally::default(),
            settings,
        }
    }

    /// Adds a document at the end of the queue; `tokens` is the estimate of its prompt plus what the answer may take.
    pub fn submit(&mut self, tokens: u64) -> DocumentKey {
        let document = DocumentKey(self.documents.insert(Progress::new(tokens.min(LARGEST_COUNT))));
        self.queue.push_back(document);
        document
    }

    /// Sends nothing more: what is on the wire ends in its own time, the rest is postponed.
    pub fn stop(&mut self) {
        self.end(PostponeReason::Stopped, "stopped before it was sent; run again to go on".to_string());
    }

    /// What to do now.
    pub fn next_action(&mut self, now: Now) -> Action {
        self.abort_overdue(now);
        self.queue_rested(now.tick);
        if let Some(action) = self.decided.pop_front() {
            return action;
        }
        if let Some(postponement) = &self.ended {
            let postponement = postponement.clone();
            self.postpone_queue(&postponement);
        } else if let Some(action) = self.send_next(now) {
            return action;
        }
        self.decided.pop_front().unwrap_or_else(|| self.wait(now.tick))
    }

    /// Documents that are not on the wire.
    pub fn queued(&self) -> usize {
        self.documents.len() - self.in_flight.len()
    }

    /// Requests on the wire.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// How documents and requests ended so far.
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// The pause that is on now.
    pub const fn pause(&self) -> Option<Pause> {
        self.pause
    }

    /// All limits known now.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        self.limiter.limits().map(Limit::from).chain(self.learner.belief())
    }

    /// Whether it takes no more documents: it was stopped, or a failure halted it.
    pub const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Documents whose back-off is over may go, before those that were never sent.
    fn queue_rested(&mut self, now: Tick) {
        while let Some((_, document)) = self.backing_off.first().copied().filter(|(until, _)| *until <= now) {
            self.backing_off.pop_first();
            let progress = &mut self.documents[document.0];
            if let State::BackingOff { since, .. } = progress.state {
                progress.state = State::Queued { since: Some(since) };
            }
            self.queue.push_front(document);
        }
    }

    fn fail(&mut self, document: DocumentKey, failure: Failure) {
        self.finish(document, Ending::Failed(failure));
    }

    fn postpone_queue(&mut self, postponement: &Postponement) {
        while let Some((_, document)) = self.backing_off.pop_first() {
            self.queue.push_back(document);
        }
        while let Some(document) = self.queue.pop_front() {
            self.finish(document, Ending::Postponed(postponement.clone()));
        }
    }

    fn finish(&mut self, document: DocumentKey, ending: Ending) {
        match ending {
            Ending::Answered(_) => self.tally.answered += 1,
            Ending::Failed(_) => self.tally.failed += 1,
            Ending::Postponed(_) => self.tally.postponed += 1,
        }
        let outcome = self.documents.remove(document.0).end(ending);
        self.decided.push_back(Action::Finish { document, outcome });
    }

    /// Takes no more documents. The first reason holds.
    fn end(&mut self, reason: PostponeReason, message: String) {
        self.ended.get_or_insert(Postponement { reason, until: None, message });
    }
}

impl From<Known> for Limit {
    fn from(Known { rate, source }: Known) -> Self {
        Self { admits: Admits::Rate(rate), source, cycles: 0 }
    }
}
