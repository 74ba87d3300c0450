//! Cycles: what an endpoint admitted between two refusals, it admits again after the same pause.
//!
//! A cycle runs from the first admission after a pause to the first after the next: so many requests in such a time.
//! Replaying it (the next may go when the n-th last is a window old) is exact for rolling and for fixed windows, and right
//! in the long run for buckets and sliding counters. No kinds of limiter are told apart, and nothing is fitted.

mod agreed;
mod bursts;
mod closing;
mod gate;
mod log;
mod opening;
mod pacing;
mod places;
mod rhythm;
mod round_trip;
mod schedule;
mod slow_start;
mod slowing;
mod trials;
mod trying;

use self::agreed::Agreed;
use self::gate::{Gate, Probe};
use self::log::Log;
use self::places::Places;
use self::rhythm::Rhythm;
use self::round_trip::RoundTrip;
use self::slow_start::SlowStart;
use self::slowing::Slowing;
use self::trials::Trials;
use crate::belief::{Admits, Limit, LimitSource};
use crate::learner::protocol::{Learner, Reason, Refused, Sent, Ticket, Turn};
use crate::learner::rules::{Rule, Rules};
use crate::time::{Delay, Tick};

/// The learner of becalm.
#[derive(Debug)]
pub struct Cycles {
    rules: Rules,
    /// Requests that may be on the wire at one time.
    most_on_wire: usize,
    log: Log,
    round_trip: RoundTrip,
    gate: Gate,
    slow_start: Option<SlowStart>,
    rhythm: Option<Rhythm>,
    /// How long a whole cycle took: after that a change of pace has shown itself.
    horizon: Delay,
    trials: Trials,
    slowing: Slowing,
    places: Places,
    /// Whether refused requests take slots, as far as is known.
    refused_count: bool,
    /// It was put to the test.
    is_counting_proven: bool,
    /// Requests that were admitted, and how many had been when the cycle began.
    admitted: u64,
    admitted_before: u64,
    /// A cycle begins with the next request.
    begins: bool,
    /// The rhythm held for two rounds of it: its amount is no burst that comes once.
    is_confirmed: bool,
    /// The rhythm's first replay was refused.
    is_replay: bool,
    first_sent_at: Option<Tick>,
    /// What had been admitted when the burst was made smaller last.
    smaller_then: u64,
    last_admitted_at: Tick,
    /// When something was heard or sent last. What is due depends on this, not on when it is asked for.
    heard_at: Tick,
    /// What had been admitted when a refusal was forgiven last.
    forgiven_then: Option<u64>,
    agreed: Agreed,
}

impl Cycles {
    /// A learner that knows nothing yet, for so many requests on the wire at most.
    pub fn new(most_on_wire: usize, rules: Rules) -> Self {
        let slow_start = (most_on_wire > 2 && rules.has(Rule::SlowStart)).then(SlowStart::begin);
        Self {
            rules,
            most_on_wire,
            log: Log::default(),
            round_trip: RoundTrip::new(),
            gate: Gate::default(),
            slow_start,
            rhythm: None,
            horizon: Delay::ZERO,
            trials: Trials::default(),
            slowing: Slowing::default(),
            places: Places::new(rules.has(Rule::Places)),
            refused_count: rules.has(Rule::CountedRefusals),
            is_counting_proven: false,
            admitted: 0,
            admitted_before: 0,
            begins: false,
            is_confirmed: false,
            is_replay: false,
            first_sent_at: None,
            smaller_then: 0,
            last_admitted_at: Tick::default(),
            heard_at: Tick::default(),
            forgiven_then: None,
            agreed: Agreed::default(),
        }
    }

    /// What follows goes in small groups first.
    fn start_slowly(&mut self) {
        self.slow_start = self.rules.has(Rule::SlowStart).then(SlowStart::begin);
    }

    fn silence(&self) -> Delay {
        self.round_trip.silence()
    }
}

impl Learner for Cycles {
    fn turn(&mut self, now: Tick, on_wire: usize, waiting: usize) -> Turn {
        if self.gate.opens_at > now && !self.goes_by_answer(now, on_wire) {
            return Turn::Wait(self.gate.opens_at, Reason::Refused);
        }
        if let Some(probe) = self.gate.probe {
            let settled = probe.at + self.silence();
            if now < settled {
                return Turn::Wait(settled, Reason::Probing);
            }
            self.probe_admitted(probe, now);
        }
        if self.trials.settles_at(self.silence()).is_some_and(|at| at <= now) {
            self.trial_admitted();
        }
        if self.places.known().is_some_and(|places| on_wire >= places) {
            return Turn::AfterAnswer;
        }
        if self.gate.is_closed {
            return Turn::Go;
        }
        let is_paced = self.rhythm.is_some();
        let started = self.slow_start.as_mut().map_or(now, |start| start.next_at(now, self.most_on_wire, is_paced));
        if started > now {
            return Turn::Wait(started, Reason::Probing);
        }
        if self.places.known().is_some() {
            return Turn::Go;
        }
        match self.rhythm_at(now, waiting) {
            Some((at, rate)) => Turn::Wait(at, Reason::Limit(rate)),
            None => Turn::Go,
        }
    }

    fn sent(&mut self, ticket: Ticket, now: Tick, others: usize) -> Sent {
        if self.gate.is_closed && self.gate.probe.is_none() {
            let by_answer = self.goes_by_answer(now, others);
            self.gate.probe = Some(Probe { ticket, at: now, by_answer });
        } else if let Some(rhythm) = self.rhythm.filter(|_| self.places.known().is_none())
            && let Some(oldest) = self.log.nth_last(rhythm.amount)
            && oldest + rhythm.window > now
        {
            let is_of_refused = self.is_counting_open(rhythm);
            self.trials.sent(ticket, now, now.since(oldest), is_of_refused);
        }
        self.log.sent(ticket, now);
        self.heard_at = now;
        self.gate.first_of_episode.get_or_insert((ticket, now));
        if core::mem::take(&mut self.begins) {
            self.log.begin(ticket);
            self.admitted_before = self.admitted;
        }
        self.follow_on(ticket, now);
        self.first_sent_at.get_or_insert(now);
        let silence = self.silence();
        if let Some(start) = &mut self.slow_start {
            start.sent(now, silence);
        }
        Sent { ticket, at: now, episode: self.gate.episode, others }
    }

    fn admitted(&mut self, sent: Sent, now: Tick) {
        self.last_admitted_at = now;
        self.heard_at = now;
        self.admitted += 1;
        let is_news = sent.episode == self.gate.episode;
        if is_news {
            self.gate.consecutive_refusals = 0;
        }
        if let Some(probe) = self.gate.probe.filter(|probe| probe.ticket == sent.ticket) {
            self.probe_admitted(probe, now);
        }
        if self.trials.is_on(sent.ticket) {
            self.trial_admitted();
        }
        if is_news {
            self.places.admitted(sent.others);
            self.spread_out(now);
        }
    }

    fn refused(&mut self, sent: Sent, refusal: Refused, now: Tick) {
        self.heard_at = now;
        self.round_trip.measured(now.since(sent.at));
        let was_trial = self.trials.is_on(sent.ticket);
        self.gate.floor = self.gate.floor.max(now + refusal.hint.unwrap_or_default());
        self.log.refused(sent.ticket, self.refused_count);
        if sent.episode != self.gate.episode {
            return self.refused_again(sent, refusal, now);
        }
        self.gate.refused(sent.ticket, self.silence(), now);
        if was_trial {
            self.trial_refused(refusal, now);
        } else if self.gate.is_closed {
            self.probe_refused(sent, refusal, now);
        } else if refusal.names_places && refusal.on_wire > 0 {
            self.places.found(refusal.on_wire);
        } else if self.gate.consecutive_refusals == 1 && self.rules.has(Rule::Explained) && self.is_excused(refusal) {
            self.keep_to_known(refusal, now);
            self.close_for(refusal, now);
        } else {
            self.refused_in_the_open(sent, refusal, now);
        }
        self.gate.last_hint = refusal.hint;
        self.gate.hint_ends = refusal.hint.map(|hint| now + hint);
        self.trials.cancel();
    }

    fn withdrawn(&mut self, sent: Sent, now: Tick) {
        self.heard_at = now;
        self.log.refused(sent.ticket, false);
        self.gate.probe.take_if(|probe| probe.ticket == sent.ticket);
        if self.trials.is_on(sent.ticket) {
            self.trials.cancel();
        }
    }

    fn interrupted(&mut self) {
        self.log.forget_cycles();
        self.begins = true;
    }

    fn pause_until(&mut self, until: Tick) {
        self.gate.floor = self.gate.floor.max(until);
        self.gate.pause_until(until);
    }

    fn is_ordinary(&self, sent: Sent) -> bool {
        let is_probe = self.gate.probe.is_some_and(|probe| probe.ticket == sent.ticket);
        self.gate.consecutive_refusals == 0 && !is_probe && !self.trials.is_on(sent.ticket)
    }

    fn opens_at(&self) -> Tick {
        self.gate.opens_at
    }

    fn belief(&self) -> Option<Limit> {
        let admits = match (self.places.sure(), self.rhythm) {
            (Some(places), _) => Admits::InFlight(u32::try_from(places).unwrap_or(u32::MAX)),
            (None, Some(rhythm)) => Admits::Rate(rhythm.rate()),
            (None, None) => return None,
        };
        let cycles = if self.places.known().is_some() { self.places.rounds() } else { self.agreed.cycles };
        Some(Limit { admits, source: LimitSource::Refusals, cycles })
    }
}
