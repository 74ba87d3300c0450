//! A batch that never runs dry, in virtual time: the machine, the network, and an endpoint that first may do anything.

use std::collections::{BTreeMap, VecDeque};

use becalm_policy::{
    Action, Admits, Delay, DocumentKey, Ending, Epoch, LimitSource, Machine, Now, Reply, Settings, Tick, TransportError,
};

use crate::endpoint::Endpoint;
use crate::worlds::{Turn, World};

#[derive(Debug)]
enum Event {
    Arrive(Turn),
    Leave,
    Reply(Reply),
    Break(TransportError),
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) world: World,
    pub(crate) machine: Machine,
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Now,
    /// Turns of the next requests, in the order in which they are sent.
    pub(crate) turns: VecDeque<Turn>,
    /// When each request was sent.
    pub(crate) sent: Vec<Tick>,
    /// When the endpoint admitted each that it did.
    pub(crate) admitted: Vec<Tick>,
    /// When its limit refused each that it did.
    pub(crate) refused: Vec<Tick>,
    /// Answered documents, and when the latest was.
    pub(crate) answered: u64,
    pub(crate) answered_at: Tick,
    events: BTreeMap<(Tick, u64), (DocumentKey, Event)>,
    next_event: u64,
    random: u64,
    /// Documents still to be submitted.
    left: u64,
}

impl Run {
    /// A batch of so many documents.
    pub(crate) fn new(world: World, documents: u64) -> Self {
        let settings = Settings {
            max_in_flight: world.max_in_flight,
            rates: world.rates.clone(),
            max_attempts: 1_000_000,
            patience: Delay::MAX,
            whole_request: Delay::from_secs(30).max(world.latency.times(4)),
            ..Settings::default()
        };
        let mut run = Self {
            machine: Machine::new(settings, world.seed),
            endpoint: Endpoint::new(world.model, world.hinting),
            now: Now {
                tick: Tick::from_ms(1_000_000 + world.seed % 100_000),
                epoch: Epoch::from_ms(1_796_040_000_000),
            },
            turns: VecDeque::new(),
            sent: vec![],
            admitted: vec![],
            refused: vec![],
            answered: 0,
            answered_at: Tick::default(),
            events: BTreeMap::new(),
            next_event: 0,
            random: world.seed,
            left: documents,
            world,
        };
        (0..WAITING).for_each(|_| run.submit());
        run
    }

    /// Runs until that instant, or the batch's end.
    pub(crate) fn go_to(&mut self, end: Tick) {
        let now = self.now.tick;
        self.go_while(|run| run.now.tick < end);
        assert!(self.now.tick > now || self.left == 0 || end <= now, "it does not get on");
    }

    pub(crate) fn go_on(&mut self, span: Delay) {
        self.go_to(self.now.tick + span);
    }

    /// Runs while that holds, or to the batch's end.
    pub(crate) fn go_while(&mut self, holds: impl Fn(&Self) -> bool) {
        let mut idle_steps = 0;
        while holds(self) {
            let before = self.now.tick;
            match self.machine.next_action(self.now) {
                Action::Send { document, .. } => self.send(document),
                Action::Abort { document } => {
                    self.events.retain(|_, (key, event)| *key != document || matches!(event, Event::Leave));
                }
                Action::Finish { outcome, .. } => {
                    if matches!(outcome.ending, Ending::Answered(_)) {
                        self.answered += 1;
                        self.answered_at = self.now.tick;
                    }
                    self.submit();
                }
                Action::Tell(_) => {}
                Action::Idle => return,
                Action::Wait(until) => self.wait(until),
            }
            idle_steps = if self.now.tick > before { 0 } else { idle_steps + 1 };
            assert!(idle_steps < 100_000, "it spins at {:?}", self.now.tick);
        }
    }

    /// The share of what is possible that is admitted from now on: by the time that is taken, from one admission to another,
    /// for what so many windows admit, or 10 s.
    pub(crate) fn pace(&mut self, windows: u64) -> f64 {
        let (began, span) = (self.now.tick, self.window().times(windows).max(Delay::from_secs(10)));
        let possible = |run: &Self, span| run.world.admits(run.endpoint.model, span);
        let first = self.admitted.len();
        let last = first + (possible(self, span) as usize).max(1);
        self.go_while(|run| run.admitted.len() <= last && run.now.tick < began + span.times(4));
        match self.admitted.get(last) {
            Some(at) => (last - first) as f64 / possible(self, at.since(self.admitted[first])),
            None => (self.admitted.len() - first) as f64 / possible(self, span.times(4)),
        }
    }

    /// The share of what is possible that is admitted in the next so much time; one more or less is a matter of phase.
    pub(crate) fn pace_for(&mut self, span: Delay) -> f64 {
        let (before, end) = (self.admitted.len(), self.now.tick + span);
        self.go_to(end);
        let admitted = self.admitted.partition_point(|at| *at <= end).saturating_sub(before);
        (admitted + 1) as f64 / self.world.admits(self.endpoint.model, span)
    }

    /// Lets so many windows pass, or that time.
    pub(crate) fn settle(&mut self, windows: u64, least: Delay) {
        self.go_on(self.window().times(windows).max(least));
    }

    fn window(&self) -> Delay {
        self.endpoint.model.rate().map_or(self.world.round_trip(), |(_, window)| window)
    }

    /// What refusals alone taught.
    pub(crate) fn learnt(&self) -> Option<Admits> {
        self.machine.limits().find(|limit| limit.source == LimitSource::Refusals).map(|limit| limit.admits)
    }

    fn submit(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            self.machine.submit(100);
        }
    }

    fn send(&mut self, document: DocumentKey) {
        self.sent.push(self.now.tick);
        let delay = self.world.network + self.chance(self.world.jitter);
        let turn = self.turns.pop_front().unwrap_or(Turn::Through);
        if turn != Turn::Silence {
            self.schedule(delay, document, Event::Arrive(turn));
        }
    }

    fn wait(&mut self, until: Option<Tick>) {
        let next = self.events.keys().next().map(|(at, _)| *at);
        let at = until.into_iter().chain(next).min().expect("it waits for nothing").max(self.now.tick);
        self.now = Now { epoch: self.now.epoch_at(at), tick: at };
        let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= at) else { return };
        let (document, event) = entry.remove();
        match event {
            Event::Arrive(turn) => self.arrive(document, &turn),
            Event::Leave => self.endpoint.leave(),
            Event::Reply(reply) => self.machine.handle_reply(document, &reply, self.now),
            Event::Break(error) => self.machine.handle_transport_error(document, error, self.now),
        }
    }

    fn arrive(&mut self, document: DocumentKey, turn: &Turn) {
        let World { latency, network, .. } = self.world;
        match turn {
            Turn::Silence => {}
            Turn::Break(error) => self.schedule(network, document, Event::Break(*error)),
            Turn::Reply { status, hint } => self.schedule(network, document, Event::Reply(self.reply(*status, *hint))),
            Turn::Answer => self.schedule(latency + network, document, Event::Reply(self.reply(200, None))),
            Turn::Through => match self.endpoint.meet(self.now.tick) {
                Ok(()) => {
                    self.admitted.push(self.now.tick);
                    self.schedule(latency, document, Event::Leave);
                    self.schedule(latency + network, document, Event::Reply(self.reply(200, None)));
                }
                Err(wait) => {
                    self.refused.push(self.now.tick);
                    let hint = self.endpoint.hint(wait);
                    self.schedule(network, document, Event::Reply(self.reply(429, hint)));
                }
            },
        }
    }

    fn reply(&self, status: u16, hint: Option<Delay>) -> Reply {
        let hint = hint.map(|hint| ("retry-after-ms", hint.as_ms().to_string()));
        let rate = self.endpoint.model.rate().filter(|_| self.world.is_stated);
        let policy = rate.map(|(amount, window)| {
            ("ratelimit-policy", format!(r#""requests";q={amount};w={}"#, window.as_ms() / 1_000))
        });
        let body = if status == 200 { COMPLETION } else { "" };
        Reply { status, headers: hint.into_iter().chain(policy).collect(), body: body.into() }
    }

    fn schedule(&mut self, delay: Delay, document: DocumentKey, event: Event) {
        self.next_event += 1;
        self.events.insert((self.now.tick + delay, self.next_event), (document, event));
    }

    /// SplitMix64: evenly from nothing to `most`.
    fn chance(&mut self, most: Delay) -> Delay {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Delay::from_ms((mixed ^ (mixed >> 31)) % (most.as_ms() + 1))
    }
}

/// Documents that wait at any time while there are more: the learner takes 64 for many, and a hundred may back off.
const WAITING: u64 = 200;
const COMPLETION: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
