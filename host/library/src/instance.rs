//! An instance of the component with a session in it: carries out one call after another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::unconstrained;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use crate::contract::{Batch, Document, Event, Status, SubmitError};
use crate::error::Error;
use crate::guest::Guest;
use crate::waiting::{Waiting, bytes_of};

/// The component's side of a session.
pub(crate) struct Instance {
    pub(crate) store: Store<Guest>,
    pub(crate) batch: Batch,
    pub(crate) session: ResourceAny,
}

/// What is asked of it.
pub(crate) enum Call {
    Submit(Vec<Document>),
    Next { wait_ms: u64 },
    Stop,
    Status,
}

/// What it says: where it stands, if that was asked.
pub(crate) type Said = Result<Option<Status>, Error>;

/// What is known of it while it is at work, too.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    /// Events that nobody has taken yet.
    pub(crate) events: Vec<Event>,
    pub(crate) waiting: Waiting,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance {
    /// Carries a call out, to its end.
    pub(crate) async fn carry_out(&mut self, call: Call, shared: &Shared) -> Said {
        match call {
            Call::Submit(documents) => self.submit(documents, shared).await.map(|()| None),
            Call::Next { wait_ms } => self.next(wait_ms, shared).await.map(|()| None),
            Call::Stop => self.stop(shared).await.map(|()| None),
            Call::Status => self.status().await.map(Some),
        }
    }

    async fn submit(&mut self, documents: Vec<Document>, shared: &Shared) -> Result<(), Error> {
        shared.lock().waiting.check(&documents)?;
        let session = self.batch.becalm_batch_analyzer().session();
        let submitted = session.call_submit(&mut self.store, self.session, &documents).await;
        let mut state = shared.lock();
        match submitted.map_err(Error::component)? {
            Ok(()) => {
                let sizes = documents.into_iter().map(|document| (bytes_of(&document), document.id));
                state.waiting.add(sizes.map(|(bytes, id)| (id, bytes)));
                Ok(())
            }
            Err(error) => {
                if error == SubmitError::Stopped {
                    state.waiting.close();
                }
                Err(Error::Submit(error))
            }
        }
    }

    async fn next(&mut self, wait_ms: u64, shared: &Shared) -> Result<(), Error> {
        // An earlier call brought them, and its caller was gone.
        if !shared.lock().events.is_empty() {
            return Ok(());
        }
        let session = self.batch.becalm_batch_analyzer().session();
        // tokio lets a task see no more than 128 things ready before it yields; the component looks at all that is on the
        // wire again then.
        let events = unconstrained(session.call_next(&mut self.store, self.session, wait_ms)).await;
        let events = events.map_err(Error::component)?;
        let mut state = shared.lock();
        events.iter().for_each(|event| state.waiting.hear(event));
        state.events = events;
        Ok(())
    }

    async fn stop(&mut self, shared: &Shared) -> Result<(), Error> {
        shared.lock().waiting.close();
        let session = self.batch.becalm_batch_analyzer().session();
        session.call_stop(&mut self.store, self.session).await.map_err(Error::component)
    }

    async fn status(&mut self) -> Result<Status, Error> {
        let session = self.batch.becalm_batch_analyzer().session();
        session.call_status(&mut self.store, self.session).await.map_err(Error::component)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;
    use crate::contract::Settings;
    use crate::http::Access;
    use crate::sandbox::Sandbox;
    use crate::server::{InProcess, Kind, Model, Server};

    /// wasmtime's table has room for a million; what stays in it for each request ends a large batch.
    #[tokio::test(start_paused = true)]
    async fn nothing_of_a_request_stays_with_the_host() {
        let sandbox = Sandbox::new().unwrap().in_time(Clock::Virtual(Duration::ZERO));
        let settings = Settings::new("http://model.invalid/v1", "mock");
        let access = Access::new(&settings.endpoint.base_url, None).unwrap();
        let server = Server::new(Model { limiter: Kind::None, ..Model::default() });
        let sender = Arc::new(InProcess(Arc::new(server)));
        let (mut instance, shared) = (sandbox.instance(settings, access, sender).await.unwrap(), Shared::default());
        let documents = (0..20).map(|n| Document::text(n.to_string(), "Text.")).collect();
        instance.submit(documents, &shared).await.unwrap();
        while !crate::session::is_idle(&instance.status().await.unwrap()) {
            instance.next(60_000, &shared).await.unwrap();
            shared.lock().events.clear();
        }
        assert!(instance.store.data().has_no_resources(), "something of 20 requests is left");
    }
}
