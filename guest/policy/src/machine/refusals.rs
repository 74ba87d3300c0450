//! A refusal, and how long it makes everyone wait.

use alloc::format;
use alloc::string::{String, ToString};

use super::action::{Action, DocumentKey, News, Refusal};
use super::progress::Flight;
use super::{Machine, Tally};
use crate::error_body::ErrorBody;
use crate::hints::Hint;
use crate::learner::{Learner, Refused as Told};
use crate::outcome::{Failure, FailureKind, PostponeReason, Postponement};
use crate::reply::Reply;
use crate::time::{Delay, Tick};

/// A request that the endpoint did not admit.
#[derive(Clone, Copy)]
pub(super) struct Refused<'a> {
    pub(super) document: DocumentKey,
    pub(super) flight: Flight,
    pub(super) reply: &'a Reply,
    pub(super) hint: Option<Hint>,
    /// Whether it says that too many were on the wire.
    pub(super) names_places: bool,
}

impl Machine {
    /// Too many per time, or at one time; or it is this document that is always refused.
    pub(super) fn refused(&mut self, refused: Refused, now: Tick) {
        let Refused { document, flight, hint, .. } = refused;
        self.last_words = ErrorBody::read(&refused.reply.body).message;
        self.gate.answered(flight.episode, flight.sent.at);
        self.tally.refusals += 1;
        let progress = &mut self.documents[document.0];
        let is_ordinary = self.learner.is_ordinary(flight.sent);
        progress.refused(is_ordinary, self.answered_at, now);
        let tokens = progress.tokens;
        if progress.refused_alone >= SUSPECT && is_ordinary && self.suspected_at < self.answered_at {
            return self.suspect(refused, now);
        }
        let is_explained = self.limiter.refused(flight.sent.ticket, tokens, now);
        let fallback = hint.is_none().then_some(self.settings.fallback_wait).flatten();
        let floor = hint.map(|hint| hint.wait).or(fallback);
        let spread = self.backoff.spread(floor);
        let told = Told {
            hint: floor,
            spread,
            is_explained,
            names_places: refused.names_places,
            known: self.limiter.tightest(),
            on_wire: self.in_flight.len(),
            waiting: self.queue.len(),
        };
        self.learner.refused(flight.sent, told, now);
        let total = self.learner.opens_at().since(now);
        // Of one episode, the first's spread holds for all.
        let most = floor.map_or(Delay::ZERO, |floor| floor + self.backoff.most_spread(floor));
        let source = match (hint, floor) {
            (Some(hint), _) if total <= most => hint.source,
            (None, Some(_)) if total <= most => "fallback-wait",
            (None, None) if refused.names_places => "max-in-flight",
            (None, None) => "probe",
            _ => "back-off",
        };
        let jitter = floor.map_or(Delay::ZERO, |floor| (total - floor).min(most - floor));
        self.tell_refused(refused, Wait { floor: total - jitter, jitter, source });
        self.queue_refused(document, now);
        self.give_up_if_fruitless(now);
    }

    /// Others are admitted and this one is not: it waits by itself, ever longer, and says nothing of a rate.
    fn suspect(&mut self, refused: Refused, now: Tick) {
        let Refused { document, flight, hint, .. } = refused;
        self.suspected_at = self.answered_at;
        self.limiter.withdrawn(flight.sent.ticket);
        self.learner.withdrawn(flight.sent, now);
        let alone = self.documents[document.0].refused_alone;
        let own = Delay::from_secs(1 << (alone - SUSPECT).min(MOST_DOUBLINGS)).min(LONGEST_SUSPENSION);
        let hinted = hint.map_or(Delay::ZERO, |hint| hint.wait);
        self.learner.pause_until(now + hinted);
        let floor = hinted.max(own);
        let wait = Wait { floor, jitter: Delay::ZERO, source: "back-off" };
        self.tell_refused(refused, wait);
        if alone >= self.no_chance(document) {
            let reply = refused.reply;
            return self.fail(
                document,
                Failure {
                    kind: FailureKind::Rejected,
                    message: format!("HTTP {}: refused {alone} times while others were answered", reply.status),
                    status: Some(reply.status),
                    request_id: reply.headers.first("x-request-id").map(String::from),
                    body: (!reply.body.is_empty()).then(|| String::from_utf8_lossy(&reply.body).into_owned()),
                },
            );
        }
        self.back_off_until(document, now + wait.total(), now);
    }

    /// So many refusals in a row of one document are no chance, where so many requests are refused anyhow: less than one in a
    /// million for each. One that is larger than all that were answered may only need more tokens at one time.
    fn no_chance(&self, document: DocumentKey) -> u32 {
        let Tally { answered, refusals, .. } = self.tally;
        match () {
            () if self.documents[document.0].tokens > self.largest_answered => MOST_REFUSED_ALONE,
            () if 7 * refusals <= answered => REFUSED_ALONE,
            () if 3 * refusals <= answered => 10,
            () if refusals <= answered => 20,
            () => MOST_REFUSED_ALONE,
        }
    }

    fn tell_refused(&mut self, refused: Refused, wait: Wait) {
        let Refused { document, reply, .. } = refused;
        self.decided.push_back(Action::Tell(News::Refused(Refusal {
            document,
            status: reply.status,
            wait: wait.total(),
            jitter: wait.jitter,
            source: wait.source,
            message: self.last_words.clone(),
            headers: reply.headers.clone(),
        })));
    }

    /// With what the endpoint said last about refusing.
    pub(super) fn in_its_words(&self, message: String) -> String {
        match self.last_words.as_str() {
            "" => message,
            words => format!("{message}; the endpoint says: {words}"),
        }
    }

    /// A document that was refused goes before those that were never sent, once; then behind them, so that one that is
    /// always refused does not hold up the others.
    fn queue_refused(&mut self, document: DocumentKey, now: Tick) {
        let progress = &self.documents[document.0];
        let goes_behind = self.queue.len() > self.settings.max_in_flight as usize
            || progress.refused_alone > 0
            || progress.refusals >= 2;
        self.queue_again(document, !goes_behind, now);
    }

    /// Refusals without one answer for longer than patience: what waits is postponed to where the gate opens. (Where the
    /// gate alone is closed for longer, the sender postpones.)
    pub(super) fn give_up_if_fruitless(&mut self, now: Tick) {
        let since = *self.fruitless_since.get_or_insert(now);
        let opens = self.gate.opens_at().unwrap_or(now).max(self.learner.opens_at()).max(now);
        if opens.since(since) <= self.settings.patience || opens.since(now) > self.settings.patience {
            return;
        }
        let message = self.in_its_words("no request was answered for as long as patience allows".to_string());
        let postponement = Postponement { reason: PostponeReason::Patience, until: Some(opens), message };
        self.postpone_queue(&postponement);
        self.ended.get_or_insert(postponement);
    }
}

/// How long is waited, and why.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) floor: Delay,
    pub(super) jitter: Delay,
    pub(super) source: &'static str,
}

impl Wait {
    /// Ours, all of it jitter.
    pub(super) const fn back_off(jitter: Delay) -> Self {
        Self { floor: Delay::ZERO, jitter, source: "back-off" }
    }

    pub(super) fn total(self) -> Delay {
        self.floor + self.jitter
    }
}

/// Refused so often again after others were answered, it may be the document.
const SUSPECT: u32 = 2;
/// Where one in eight is refused, or fewer, a document that was refused so often again fails.
const REFUSED_ALONE: u32 = 8;
const MOST_REFUSED_ALONE: u32 = 50;
const MOST_DOUBLINGS: u32 = 20;
const LONGEST_SUSPENSION: Delay = Delay::from_secs(300);
