//! A batch at work: documents go in, events come out, call by call.

use std::time::Duration;

use tokio::task::unconstrained;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use crate::contract::{Batch, Document, Event, Status};
use crate::error::Error;
use crate::sandbox::Guest;

/// A batch at work, in an instance of its own.
pub struct Session {
    pub(crate) store: Store<Guest>,
    pub(crate) batch: Batch,
    pub(crate) session: ResourceAny,
    pub(crate) max_in_flight: u32,
}

impl Session {
    /// How many requests may be in flight, by its settings. With twice as many documents submitted it never runs dry.
    pub const fn max_in_flight(&self) -> u32 {
        self.max_in_flight
    }

    /// Adds documents at the end of the queue.
    ///
    /// # Errors
    ///
    /// [`Error::Submit`] if an id is in use or the session has ended; then none was taken.
    pub async fn submit(&mut self, documents: Vec<Document>) -> Result<(), Error> {
        let session = self.batch.becalm_batch_analyzer().session();
        session.call_submit(&mut self.store, self.session, &documents).await?.map_err(Error::Submit)
    }

    /// What happened since the last call, oldest first; waits for it, at most so long. Do not drop it half-way: the
    /// session is lost then.
    ///
    /// # Errors
    ///
    /// If the component traps; the session is lost then.
    pub async fn next(&mut self, wait: Duration) -> Result<Vec<Event>, Error> {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let session = self.batch.becalm_batch_analyzer().session();
        // tokio lets a task see no more than 128 things ready before it yields; the component looks at all that is on the
        // wire again then.
        Ok(unconstrained(session.call_next(&mut self.store, self.session, wait)).await?)
    }

    /// Sends nothing more; what is in flight ends in its own time, the rest is postponed.
    ///
    /// # Errors
    ///
    /// If the component traps.
    pub async fn stop(&mut self) -> Result<(), Error> {
        let session = self.batch.becalm_batch_analyzer().session();
        Ok(session.call_stop(&mut self.store, self.session).await?)
    }

    /// Where the session stands.
    ///
    /// # Errors
    ///
    /// If the component traps.
    pub async fn status(&mut self) -> Result<Status, Error> {
        let session = self.batch.becalm_batch_analyzer().session();
        Ok(session.call_status(&mut self.store, self.session).await?)
    }

    /// Whether every document that was submitted has its outcome.
    ///
    /// # Errors
    ///
    /// If the component traps.
    pub async fn is_done(&mut self) -> Result<bool, Error> {
        let status = self.status().await?;
        Ok(status.queued == 0 && status.in_flight == 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Clock;
    use crate::http::Access;
    use crate::sandbox::Sandbox;
    use crate::server::{InProcess, Kind, Model, Server};

    /// wasmtime's table has room for a million; what stays in it for each request ends a large batch.
    #[tokio::test(start_paused = true)]
    async fn nothing_of_a_request_stays_with_the_host() {
        let sandbox = Sandbox::new().unwrap().in_time(Clock::Virtual(Duration::ZERO));
        let mut settings = sandbox.default_settings().await.unwrap();
        settings.endpoint.base_url = "http://model.invalid/v1".into();
        settings.chat.model = "mock".into();
        let access = Access::new(&settings.endpoint.base_url, None).unwrap();
        let server = Server::new(Model { limiter: Kind::None, ..Model::default() });
        let mut session = sandbox.open(settings, access, Arc::new(InProcess(Arc::new(server)))).await.unwrap();
        session.submit((0..20).map(|n| Document::text(n.to_string(), "Text.")).collect()).await.unwrap();
        while !session.is_done().await.unwrap() {
            session.next(Duration::from_secs(60)).await.unwrap();
        }
        assert!(session.store.data().has_no_resources(), "something of 20 requests is left");
    }
}
