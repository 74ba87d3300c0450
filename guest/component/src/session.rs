//! The driver: one plain loop. Ask the machine what to do; do it; when there is nothing to do, wait once for all requests
//! on the wire and the machine's next instant; hand what happened back.

use std::collections::{BTreeMap, HashSet, VecDeque};

use becalm_policy::{Action, Delay, DocumentKey, Machine, News, Now, Tally, Tick};
use wasip2::io::poll::{Pollable, poll};
use wasip2::random::random::get_random_u64;

use crate::bindings::exports::becalm::batch::analyzer::{
    Document, Event, Happening, Outcome, Sent, Settings, SettingsError, Status, SubmitError, Timeouts, Verdict,
};
use crate::http::Exchange;
use crate::settings::{Prompt, Target};
use crate::{clock, documents, outcomes, settings};

/// A batch at work.
pub(crate) struct Session {
    target: Target,
    prompt: Prompt,
    timeouts: Timeouts,
    trace: bool,
    machine: Machine,
    /// Documents without an outcome: id and request body.
    documents: BTreeMap<DocumentKey, (String, Vec<u8>)>,
    ids: HashSet<String>,
    exchanges: BTreeMap<DocumentKey, Exchange>,
    events: VecDeque<Event>,
    pending_bytes: usize,
    /// Whether the last look at everything on the wire brought little for what it cost.
    lets_gather: bool,
    /// Documents that failed before the machine saw them.
    invalid: u64,
}

impl Session {
    pub(crate) fn open(settings: Settings) -> Result<Self, SettingsError> {
        let policy = settings::policy(&settings)?;
        let target = settings::target(settings.endpoint)?;
        let prompt = settings::prompt(settings.chat)?;
        Ok(Self {
            target,
            prompt,
            timeouts: settings.timeouts,
            trace: settings.trace,
            machine: Machine::new(policy, settings.seed.unwrap_or_else(get_random_u64)),
            documents: BTreeMap::new(),
            ids: HashSet::new(),
            exchanges: BTreeMap::new(),
            events: VecDeque::new(),
            pending_bytes: 0,
            lets_gather: false,
            invalid: 0,
        })
    }

    pub(crate) fn submit(&mut self, documents: Vec<Document>) -> Result<(), SubmitError> {
        if self.machine.has_ended() {
            return Err(SubmitError::Stopped);
        }
        let mut ids = HashSet::new();
        for Document { id, .. } in &documents {
            if self.ids.contains(id) || !ids.insert(id) {
                return Err(SubmitError::DuplicateId(id.clone()));
            }
        }
        documents.into_iter().for_each(|document| self.add(document));
        Ok(())
    }

    /// Takes a document whose id is free.
    pub(crate) fn add(&mut self, document: Document) {
        match documents::request(&document.input, &self.prompt) {
            Ok(request) => {
                let key = self.machine.submit(request.tokens);
                self.ids.insert(document.id.clone());
                self.documents.insert(key, (document.id, request.body));
            }
            Err(message) => {
                self.invalid += 1;
                self.push(Happening::Outcome(outcomes::invalid(document.id, &message)), clock::now());
            }
        }
    }

    pub(crate) fn stop(&mut self) {
        self.machine.stop();
    }

    /// Whether there is an event to come.
    pub(crate) fn has_work(&self) -> bool {
        !self.documents.is_empty() || !self.events.is_empty()
    }

    pub(crate) fn next(&mut self, wait: u64) -> Vec<Event> {
        let mut now = clock::now();
        let until = (wait < u64::MAX).then(|| Tick::from_ms(now.tick.as_ms().saturating_add(wait)));
        let mut is_over = false;
        loop {
            match self.machine.next_action(now) {
                Action::Idle => break,
                Action::Wait(_) if is_over || !self.events.is_empty() => break,
                Action::Wait(at) => {
                    self.poll([at, until].into_iter().flatten().min(), now.tick);
                    now = clock::now();
                    is_over = until.is_some_and(|until| now.tick >= until);
                }
                Action::Send { document, attempt, in_flight } => {
                    self.send(document, attempt, in_flight, now);
                    // Starting a request takes a while, and the next one counts from when it goes.
                    now = clock::now();
                }
                action => self.carry_out(action, now),
            }
            if self.pending_bytes >= MOST_BYTES {
                break;
            }
        }
        self.take_events()
    }

    pub(crate) fn status(&self) -> Status {
        let Tally { answered, failed, postponed, refusals } = self.machine.tally();
        let now = clock::now();
        let (queued, in_flight) = (self.machine.queued(), self.machine.in_flight());
        // The machine has ended some whose outcome the driver has not seen.
        let ended = self.documents.len().saturating_sub(queued + in_flight);
        Status {
            queued: queued as u32,
            in_flight: in_flight as u32,
            unheard: (self.events.len() + ended) as u32,
            answered,
            failed: failed + self.invalid,
            postponed,
            refusals,
            paused: self.machine.pause().map(|pause| outcomes::pause(pause, now)),
            limits: self.machine.limits().map(outcomes::limit).collect(),
        }
    }

    /// Does what the machine decided, other than to send or to wait.
    fn carry_out(&mut self, action: Action, now: Now) {
        match action {
            Action::Abort { document } => drop(self.exchanges.remove(&document)),
            Action::Finish { document, outcome } => {
                if let Some((id, _)) = self.documents.remove(&document) {
                    self.ids.remove(&id);
                    self.push(Happening::Outcome(outcomes::outcome(id, outcome, now)), now);
                }
            }
            Action::Tell(news) => self.tell(news, now),
            Action::Send { .. } | Action::Wait(_) | Action::Idle => {}
        }
    }

    fn send(&mut self, document: DocumentKey, attempt: u32, in_flight: u32, now: Now) {
        let Some((id, body)) = self.documents.get(&document) else { return };
        let body = body.clone();
        if self.trace {
            let id = id.clone();
            self.push(Happening::Sent(Sent { id, attempt, in_flight }), now);
        }
        match Exchange::start(&self.target, &self.timeouts, body) {
            Ok(exchange) => {
                self.exchanges.insert(document, exchange);
                self.advance(document, now);
            }
            Err(error) => self.machine.handle_transport_error(document, error, now),
        }
    }

    /// Lets a request go as far as it can; hands its end to the machine.
    fn advance(&mut self, document: DocumentKey, now: Now) {
        let Some(end) = self.exchanges.get_mut(&document).and_then(Exchange::advance) else { return };
        self.exchanges.remove(&document);
        match end {
            Ok(reply) => self.machine.handle_reply(document, &reply, now),
            Err(error) => self.machine.handle_transport_error(document, error, now),
        }
    }

    /// Waits once for everything. (`poll` traps on an empty list, and gives its indexes in no order.)
    fn poll(&mut self, at: Option<Tick>, now: Tick) {
        if self.lets_gather {
            let gathered = now + Delay::from_ms(self.exchanges.len() as u64 / GATHERED_PER_MS);
            poll(&[&clock::timer(at.map_or(gathered, |at| at.min(gathered)))]);
        }
        let timer = at.map(clock::timer);
        let on_wire = self.exchanges.iter().filter_map(|(document, exchange)| Some((*document, exchange.pollable()?)));
        let (documents, mut pollables): (Vec<DocumentKey>, Vec<&Pollable>) = on_wire.unzip();
        pollables.extend(&timer);
        if pollables.is_empty() {
            return;
        }
        let mut ready = poll(&pollables);
        self.lets_gather = ready.len() < documents.len() / CROWD && documents.len() as u64 >= GATHERED_PER_MS;
        // In the order of the documents, so that runs with one seed are the same.
        ready.sort_unstable();
        let now = clock::now();
        for document in ready.into_iter().filter_map(|index| documents.get(index as usize)) {
            self.advance(*document, now);
        }
    }

    fn tell(&mut self, news: News, now: Now) {
        let happening = match news {
            News::Paused(pause) => Happening::Paused(outcomes::pause(pause, now)),
            News::Resumed => Happening::Resumed,
            News::Learnt(limit) => Happening::Learnt(outcomes::limit(limit)),
            News::HintIgnored(ignored) => Happening::HintIgnored(outcomes::ignored_hint(ignored)),
            News::Halted(failure) => Happening::Halted(outcomes::failure(failure)),
            News::Refused(refusal) => Happening::Refused(outcomes::refusal(self.id(refusal.document), &refusal)),
            News::Faulted(trouble) => Happening::Faulted(outcomes::fault(self.id(trouble.document), trouble)),
        };
        self.push(happening, now);
    }

    fn id(&self, document: DocumentKey) -> String {
        self.documents.get(&document).map_or_else(String::new, |(id, _)| id.clone())
    }

    fn push(&mut self, what: Happening, now: Now) {
        let event = Event { at: now.epoch.as_ms(), what };
        self.pending_bytes += size(&event);
        self.events.push_back(event);
    }

    /// The oldest events, as many as one call may return.
    fn take_events(&mut self) -> Vec<Event> {
        let mut events = vec![];
        let mut bytes = 0;
        while bytes < MOST_BYTES {
            let Some(event) = self.events.pop_front() else { break };
            bytes += size(&event);
            events.push(event);
        }
        self.pending_bytes -= bytes;
        events
    }
}

/// Roughly what an event takes in memory; only the bodies can be large.
fn size(event: &Event) -> usize {
    let Happening::Outcome(Outcome { id, verdict, .. }) = &event.what else { return SMALL_EVENT };
    let body = match verdict {
        Verdict::Answered(answer) => answer.body.len() + answer.text.as_ref().map_or(0, String::len),
        Verdict::Failed(failure) => failure.body.as_ref().map_or(0, String::len),
        Verdict::Postponed(_) => 0,
    };
    SMALL_EVENT + id.len() + body
}

const SMALL_EVENT: usize = 256;
/// What one call may return. wasmtime lets a result have 128 MiB.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// A look costs the host up to a microsecond for each request on the wire, whatever is ready (wasmtime 48). With fewer than
/// one in so many ready it costs more than all that is done for those: the next look waits until more have gathered.
const CROWD: usize = 64;
/// It waits a millisecond for so many requests on the wire. With 4,000 of them and answers after 2 to 8 s that takes the CPU
/// time of a document from 1.2 ms to 0.5 ms, and the batch 0.3 % longer.
const GATHERED_PER_MS: u64 = 128;
