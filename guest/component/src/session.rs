//! The driver: one plain loop. Ask the machine what to do; do it; when there is nothing to do, wait once for all requests
//! on the wire and the machine's next instant; hand what happened back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use becalm_policy::{Action, DocumentKey, Machine, News, Tally, Tick};
use wasip2::io::poll::{Pollable, poll};
use wasip2::random::random::get_random_u64;

use crate::exports::becalm::batch::analyzer::{
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
    ids: BTreeSet<String>,
    exchanges: BTreeMap<DocumentKey, Exchange>,
    events: VecDeque<Event>,
    pending_bytes: usize,
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
            ids: BTreeSet::new(),
            exchanges: BTreeMap::new(),
            events: VecDeque::new(),
            pending_bytes: 0,
            invalid: 0,
        })
    }

    pub(crate) fn submit(&mut self, documents: Vec<Document>) -> Result<(), SubmitError> {
        if self.machine.has_ended() {
            return Err(SubmitError::Stopped);
        }
        let mut ids = BTreeSet::new();
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
                self.push(Happening::Outcome(outcomes::invalid(document.id, &message)));
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
        let until = (wait < u64::MAX).then(|| Tick::from_ms(clock::now().tick.as_ms().saturating_add(wait)));
        let mut is_over = false;
        loop {
            let action = self.machine.next_action(clock::now());
            let is_done = match action {
                Action::Idle => true,
                Action::Wait(_) if is_over || !self.events.is_empty() => true,
                Action::Wait(at) => {
                    self.poll([at, until].into_iter().flatten().min());
                    is_over = until.is_some_and(|until| clock::now().tick >= until);
                    false
                }
                action => self.carry_out(action),
            };
            if is_done {
                return self.take_events();
            }
        }
    }

    pub(crate) fn status(&self) -> Status {
        let Tally { answered, failed, postponed, refusals } = self.machine.tally();
        let now = clock::now();
        Status {
            queued: self.machine.queued() as u32,
            in_flight: self.machine.in_flight() as u32,
            answered,
            failed: failed + self.invalid,
            postponed,
            refusals,
            paused: self.machine.pause().map(|pause| outcomes::pause(pause, now)),
            limits: self.machine.limits().map(outcomes::limit).collect(),
        }
    }

    /// Does what the machine decided. Says whether so much has happened that the caller should hear of it first.
    fn carry_out(&mut self, action: Action) -> bool {
        match action {
            Action::Send { document, attempt, in_flight } => self.send(document, attempt, in_flight),
            Action::Abort { document } => drop(self.exchanges.remove(&document)),
            Action::Finish { document, outcome } => {
                if let Some((id, _)) = self.documents.remove(&document) {
                    self.ids.remove(&id);
                    self.push(Happening::Outcome(outcomes::outcome(id, outcome, clock::now())));
                }
            }
            Action::Tell(news) => self.tell(news),
            Action::Wait(_) | Action::Idle => {}
        }
        self.pending_bytes >= MOST_BYTES
    }

    fn send(&mut self, document: DocumentKey, attempt: u32, in_flight: u32) {
        let Some((id, body)) = self.documents.get(&document) else { return };
        let (id, body) = (id.clone(), body.clone());
        if self.trace {
            self.push(Happening::Sent(Sent { id, attempt, in_flight }));
        }
        match Exchange::start(&self.target, &self.timeouts, body) {
            Ok(exchange) => {
                self.exchanges.insert(document, exchange);
                self.advance(document);
            }
            Err(error) => self.machine.handle_transport_error(document, error, clock::now()),
        }
    }

    /// Lets a request go as far as it can; hands its end to the machine.
    fn advance(&mut self, document: DocumentKey) {
        let Some(end) = self.exchanges.get_mut(&document).and_then(Exchange::advance) else { return };
        self.exchanges.remove(&document);
        match end {
            Ok(reply) => self.machine.handle_reply(document, &reply, clock::now()),
            Err(error) => self.machine.handle_transport_error(document, error, clock::now()),
        }
    }

    /// Waits once for everything. (`poll` traps on an empty list, and gives its indexes in no order.)
    fn poll(&mut self, at: Option<Tick>) {
        let timer = at.map(clock::timer);
        let on_wire = self.exchanges.iter().filter_map(|(document, exchange)| Some((*document, exchange.pollable()?)));
        let (documents, mut pollables): (Vec<DocumentKey>, Vec<&Pollable>) = on_wire.unzip();
        pollables.extend(&timer);
        if pollables.is_empty() {
            return;
        }
        let mut ready = poll(&pollables);
        // In the order of the documents, so that runs with one seed are the same.
        ready.sort_unstable();
        for document in ready.into_iter().filter_map(|index| documents.get(index as usize)) {
            self.advance(*document);
        }
    }

    fn tell(&mut self, news: News) {
        let now = clock::now();
        let happening = match news {
            News::Paused(pause) => Happening::Paused(outcomes::pause(pause, now)),
            News::Resumed => Happening::Resumed,
            News::Learnt(limit) => Happening::Learnt(outcomes::limit(limit)),
            News::HintIgnored(ignored) => Happening::HintIgnored(outcomes::ignored_hint(ignored)),
            News::Halted(failure) => Happening::Halted(outcomes::failure(failure)),
            News::Refused(refusal) => Happening::Refused(outcomes::refusal(self.id(refusal.document), &refusal)),
            News::Faulted(trouble) => Happening::Faulted(outcomes::fault(self.id(trouble.document), trouble)),
        };
        self.push(happening);
    }

    fn id(&self, document: DocumentKey) -> String {
        self.documents.get(&document).map_or_else(String::new, |(id, _)| id.clone())
    }

    fn push(&mut self, what: Happening) {
        let event = Event { at: clock::now().epoch.as_ms(), what };
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
