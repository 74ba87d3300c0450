//! The component: the policy's decisions, carried out over WASI. Nothing is decided here; no status code and no delay
//! appears. The files follow a document: `settings` and `documents` on the way in, `session` at work with `http`,
//! `outcomes` on the way out.

// What `export!` makes is `unsafe extern` by nature.
#![allow(unsafe_code, reason = "generated")]

mod bindings;
mod clock;
mod documents;
mod http;
mod outcomes;
mod session;
mod settings;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::bindings::exports::becalm::batch::analyzer::{
    self, Document, Event, Happening, Outcome, Report, Settings, SettingsError, Status, SubmitError,
};

use crate::session::Session;

struct Component;

bindings::export!(Component with_types_in bindings);

impl analyzer::Guest for Component {
    type Session = RefCell<Session>;

    fn default_settings() -> Settings {
        settings::defaults()
    }

    fn analyze_batch(documents: Vec<Document>, settings: Settings) -> Result<Report, SettingsError> {
        let started = clock::now();
        let mut session = Session::open(settings)?;
        let mut places = BTreeMap::new();
        let mut outcomes = vec![None; documents.len()];
        let mut halted = None;
        for (place, document) in documents.into_iter().enumerate() {
            if places.contains_key(&document.id) {
                outcomes[place] = Some(outcomes::invalid(document.id, "this id occurs before in the batch"));
                continue;
            }
            places.insert(document.id.clone(), place);
            session.add(document);
        }
        while session.has_work() {
            for event in session.next(u64::MAX) {
                match event.what {
                    Happening::Outcome(outcome) => keep(outcome, &places, &mut outcomes),
                    Happening::Halted(failure) => halted = Some(failure),
                    _ => {}
                }
            }
        }
        let Status { limits, refusals, .. } = session.status();
        let elapsed = clock::now().tick.since(started.tick).as_ms();
        Ok(Report { outcomes: outcomes.into_iter().flatten().collect(), limits, refusals, elapsed, halted })
    }
}

/// Puts an outcome where its document stood.
fn keep(outcome: Outcome, places: &BTreeMap<String, usize>, outcomes: &mut [Option<Outcome>]) {
    if let Some(place) = places.get(&outcome.id) {
        outcomes[*place] = Some(outcome);
    }
}

impl analyzer::GuestSession for RefCell<Session> {
    fn open(settings: Settings) -> Result<analyzer::Session, SettingsError> {
        Session::open(settings).map(|session| analyzer::Session::new(RefCell::new(session)))
    }

    fn submit(&self, documents: Vec<Document>) -> Result<(), SubmitError> {
        self.borrow_mut().submit(documents)
    }

    fn next(&self, wait: u64) -> Vec<Event> {
        self.borrow_mut().next(wait)
    }

    fn stop(&self) {
        self.borrow_mut().stop();
    }

    fn status(&self) -> Status {
        self.borrow().status()
    }
}
