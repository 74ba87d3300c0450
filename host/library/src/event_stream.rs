//! A session as a stream: documents go in as there is room for them, events come out, and nothing piles up in between.

use std::pin::Pin;
use std::time::Duration;
use std::vec;

use futures_util::stream::try_unfold;
use futures_util::{FutureExt, Stream, StreamExt};

use crate::contract::{Document, Event, Status, SubmitError};
use crate::error::Error;
use crate::session::{Session, is_idle};
use crate::waiting::{ENOUGH_BYTES, bytes_of};

impl Session {
    /// All that happens to these documents, oldest first, until each has its outcome.
    ///
    /// Documents are taken from their stream when there is room for them, twice as many as may be in flight or 128, unless
    /// those that wait have 64 MiB; how slowly they come does not hold up those that are there. They are no longer taken
    /// after a `halted` event, or after one was postponed because its wait is beyond patience. While nobody asks for the next
    /// event, nothing more is sent. Dropping the stream aborts what is on the wire.
    ///
    /// # Errors
    ///
    /// [`Error::Submit`] if an id is in use, [`Error::Component`] if the component traps. The stream ends with it.
    pub fn analyze<Documents>(self, documents: Documents) -> impl Stream<Item = Result<Event, Error>> + Send
    where
        Documents: Stream<Item = Document> + Send,
    {
        let stream = EventStream { session: self, documents: Some(Box::pin(documents)), events: vec![].into_iter() };
        try_unfold(stream, |mut stream| async move { Ok(stream.next().await?.map(|event| (event, stream))) })
    }
}

struct EventStream<Documents> {
    session: Session,
    /// Until they end, or no more are taken.
    documents: Option<Pin<Box<Documents>>>,
    events: vec::IntoIter<Event>,
}

impl<Documents: Stream<Item = Document> + Send> EventStream<Documents> {
    async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.events.next() {
                return Ok(Some(event));
            }
            let status = self.session.status().await?;
            let documents = self.take(&status).await;
            let is_over = is_idle(&status) && documents.is_empty();
            self.submit(documents).await?;
            let events = self.session.next(MOMENT).await?;
            if is_over && events.is_empty() && self.documents.is_none() {
                return Ok(None);
            }
            if !self.session.takes_more() {
                self.documents = None;
            }
            self.events = events.into_iter();
        }
    }

    /// The documents that are there; where there is nothing else to do, it waits for one.
    async fn take(&mut self, status: &Status) -> Vec<Document> {
        let (room, mut taken, mut bytes) = (self.session.room(status), vec![], 0);
        while let Some(documents) = self.documents.as_mut()
            && taken.len() < room
            && bytes < ENOUGH_BYTES
        {
            let next = match is_idle(status) && taken.is_empty() {
                true => documents.next().await,
                false => match documents.next().now_or_never() {
                    Some(next) => next,
                    None => break,
                },
            };
            match next {
                Some(document) => {
                    bytes += bytes_of(&document);
                    taken.push(document);
                }
                None => self.documents = None,
            }
        }
        taken
    }

    async fn submit(&mut self, documents: Vec<Document>) -> Result<(), Error> {
        if documents.is_empty() {
            return Ok(());
        }
        match self.session.submit(documents).await {
            Err(Error::Submit(SubmitError::Stopped)) => self.documents = None,
            submitted => submitted?,
        }
        Ok(())
    }
}

/// How long a document waits to be taken while others are on the wire.
const MOMENT: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::stream;

    use super::*;
    use crate::clock::Clock;
    use crate::contract::{Happening, Settings, Verdict};
    use crate::http::Access;
    use crate::sandbox::Sandbox;
    use crate::server::{InProcess, Kind, Model, Server};

    async fn session(model: Model) -> (Session, Arc<Server>) {
        let sandbox = Sandbox::new().unwrap().in_time(Clock::Virtual(Duration::ZERO));
        let settings = Settings::new("http://model.invalid/v1", "mock").with_max_in_flight(4);
        let access = Access::new(&settings.endpoint.base_url, None).unwrap();
        let server = Arc::new(Server::new(model));
        (sandbox.open(settings, access, Arc::new(InProcess(Arc::clone(&server)))).await.unwrap(), server)
    }

    fn documents(count: usize) -> impl Iterator<Item = Document> + Send {
        (0..count).map(|n| Document::text(n.to_string(), "Text."))
    }

    fn is_answered(event: &Result<Event, Error>) -> bool {
        let Happening::Outcome(outcome) = &event.as_ref().unwrap().what else { return false };
        matches!(outcome.verdict, Verdict::Answered(_))
    }

    #[tokio::test(start_paused = true)]
    async fn every_document_has_its_outcome() {
        let (session, _) = session(Model::default()).await;
        let events = session.analyze(stream::iter(documents(50))).collect::<Vec<_>>().await;
        assert_eq!(events.iter().filter(|event| is_answered(event)).count(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn documents_that_come_slowly_do_not_hold_up_the_others() {
        let (session, _) = session(Model { limiter: Kind::None, ..Model::default() }).await;
        let slowly = stream::iter(documents(5)).then(|document| async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            document
        });
        let started = tokio::time::Instant::now();
        let mut events = Box::pin(session.analyze(slowly));
        assert!(is_answered(&events.next().await.unwrap()));
        assert!(started.elapsed() < Duration::from_secs(62), "{:?}", started.elapsed());
        assert_eq!(events.collect::<Vec<_>>().await.len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_piles_up_while_nobody_asks() {
        let (session, server) = session(Model { limiter: Kind::None, ..Model::default() }).await;
        let taken = std::sync::atomic::AtomicUsize::new(0);
        let counted = stream::iter(documents(1_000)).inspect(|_| {
            taken.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        let mut events = Box::pin(session.analyze(counted));
        events.next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert!(server.stats().sent <= 8, "{} were sent", server.stats().sent);
        assert!(taken.load(std::sync::atomic::Ordering::Relaxed) <= 128 + 8);
    }

    #[tokio::test(start_paused = true)]
    async fn of_large_documents_fewer_wait() {
        let (session, _) = session(Model { limiter: Kind::None, ..Model::default() }).await;
        let mut taken = 0;
        let text = "x".repeat(8 * 1024 * 1024);
        let large = stream::iter(0..1_000).map(|n| {
            taken += 1;
            Document::text(n.to_string(), text.clone())
        });
        let mut events = Box::pin(session.analyze(large));
        events.next().await.unwrap().unwrap();
        drop(events);
        assert!((8..=16).contains(&taken), "{taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_that_halts_takes_no_more() {
        let (session, _) = session(Model { limiter: Kind::None, ..Model::default() }).await;
        let same = stream::iter(documents(1).chain(documents(1)));
        let events = session.analyze(same).collect::<Vec<_>>().await;
        assert!(matches!(events[..], [Err(Error::Submit(SubmitError::DuplicateId(_)))]), "{events:?}");
    }
}
