//! A batch at work: documents go in, events come out, call by call.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::contract::{Document, Event, Status};
use crate::error::Error;
use crate::instance::{Call, Instance, Said, Shared};

/// A batch at work, in an instance of its own.
///
/// The usual way is [`Session::analyze`], which feeds it and ends by itself. Whoever calls it step by step submits as many
/// documents as there is [`room`](Session::room) for, takes what happened by [`next`](Session::next), and goes on until
/// [`is_done`](Session::is_done). A future that is dropped half-way loses nothing: the next call, whichever it is, first goes
/// on with what it had begun, and what that brings is handed out by `next`. Dropping the session aborts what is on the wire.
pub struct Session {
    turn: Turn,
    shared: Shared,
    max_in_flight: u32,
}

/// Whether the instance is at work on a call. The call is not a part of the future that waits for it: that can be dropped.
enum Turn {
    Idle(Box<Instance>),
    Busy(Pin<Box<dyn Future<Output = (Box<Instance>, Said)> + Send>>),
    /// It panicked.
    Lost,
}

impl Session {
    pub(crate) fn new(instance: Instance, max_in_flight: u32) -> Self {
        Self { turn: Turn::Idle(Box::new(instance)), shared: Shared::default(), max_in_flight }
    }

    /// How many requests may be in flight, by its settings.
    pub const fn max_in_flight(&self) -> u32 {
        self.max_in_flight
    }

    /// Adds documents at the end of the queue.
    ///
    /// # Errors
    ///
    /// [`Error::Submit`] if an id is in use or the session has ended, [`Error::Full`] if more than 256 MiB would wait; then
    /// none was taken.
    pub async fn submit(&mut self, documents: Vec<Document>) -> Result<(), Error> {
        self.call(Call::Submit(documents)).await.map(|_| ())
    }

    /// What happened since the last call, oldest first; waits for it, at most so long.
    ///
    /// # Errors
    ///
    /// If the component traps; the session is lost then.
    pub async fn next(&mut self, wait: Duration) -> Result<Vec<Event>, Error> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.call(Call::Next { wait_ms }).await?;
        Ok(std::mem::take(&mut self.shared.lock().events))
    }

    /// Sends nothing more; what is in flight ends in its own time, the rest is postponed.
    ///
    /// # Errors
    ///
    /// If the component traps.
    pub async fn stop(&mut self) -> Result<(), Error> {
        self.call(Call::Stop).await.map(|_| ())
    }

    /// Where the session stands.
    ///
    /// # Errors
    ///
    /// If the component traps.
    pub async fn status(&mut self) -> Result<Status, Error> {
        self.call(Call::Status).await?.ok_or_else(Error::lost)
    }

    /// How many documents to submit where it stands so: as many as it needs not to run dry, of large ones fewer; none where
    /// they would only be postponed.
    pub fn room(&self, status: &Status) -> usize {
        self.shared.lock().waiting.room(status.queued, self.max_in_flight)
    }

    /// Whether another document has a chance: not after a `halted` event, after `stop`, or after one was postponed because
    /// its wait is beyond patience.
    pub fn takes_more(&self) -> bool {
        self.shared.lock().waiting.takes_more()
    }

    /// Whether every document that was submitted has its outcome, and all that happened was handed out.
    ///
    /// # Errors
    ///
    /// If the component traps.
    pub async fn is_done(&mut self) -> Result<bool, Error> {
        let status = self.status().await?;
        Ok(is_idle(&status) && self.shared.lock().events.is_empty())
    }

    async fn call(&mut self, call: Call) -> Said {
        // What it says was for somebody who is gone; events are kept.
        let _ = self.finish().await;
        let Turn::Idle(mut instance) = std::mem::replace(&mut self.turn, Turn::Lost) else { return Err(Error::lost()) };
        let shared = self.shared.clone();
        self.turn = Turn::Busy(Box::pin(async move {
            let said = instance.carry_out(call, &shared).await;
            (instance, said)
        }));
        self.finish().await
    }

    /// Goes on with the call that was begun.
    async fn finish(&mut self) -> Said {
        let Turn::Busy(busy) = &mut self.turn else { return Ok(None) };
        let (instance, said) = busy.await;
        self.turn = Turn::Idle(instance);
        said
    }
}

/// Nothing waits, nothing is on the wire, and nothing is left to be handed out.
pub(crate) const fn is_idle(status: &Status) -> bool {
    status.queued == 0 && status.in_flight == 0 && status.unheard == 0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Clock;
    use crate::contract::{Happening, Outcome, Settings, Verdict};
    use crate::http::{Access, Answered, Sender, Timeouts, body};
    use crate::sandbox::Sandbox;
    use crate::server::{InProcess, Kind, Model, Server};

    async fn session(model: Model) -> Session {
        session_by(Arc::new(InProcess(Arc::new(Server::new(model))))).await
    }

    async fn session_by(sender: Arc<dyn Sender>) -> Session {
        let sandbox = Sandbox::new().unwrap().in_time(Clock::Virtual(Duration::ZERO));
        let settings = Settings::new("http://model.invalid/v1", "mock");
        let access = Access::new(&settings.endpoint.base_url, None).unwrap();
        sandbox.open(settings, access, sender).await.unwrap()
    }

    /// Answers with so many bytes.
    struct Talkative(usize);

    impl Sender for Talkative {
        fn send(&self, _: http::Request<bytes::Bytes>, _: Timeouts) -> Answered {
            let content = "x".repeat(self.0);
            let answer = format!(
                r#"{{"choices":[{{"message":{{"role":"assistant","content":"{content}"}},"finish_reason":"stop"}}]}}"#
            );
            Box::pin(async { Ok(http::Response::new(body(answer))) })
        }
    }

    /// What came home with so many bytes of text, by a loop that follows the documentation.
    async fn home(session: &mut Session, bytes: usize) -> usize {
        let mut home = 0;
        while !session.is_done().await.unwrap() {
            let events = session.next(Duration::from_secs(60)).await.unwrap();
            let whole = events.iter().filter(|event| matches!(&event.what, Happening::Outcome(Outcome { verdict: Verdict::Answered(answer), .. }) if answer.text.as_ref().is_some_and(|text| text.len() == bytes)));
            home += whole.count();
        }
        home
    }

    #[tokio::test(start_paused = true)]
    async fn large_answers_come_home_however_many_there_are_at_once() {
        let mut session = session_by(Arc::new(Talkative(4 * 1024 * 1024))).await;
        session.submit(documents(24)).await.unwrap();
        assert_eq!(home(&mut session, 4 * 1024 * 1024).await, 24);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_of_almost_64_mib_comes_home() {
        let bytes = 64 * 1024 * 1024 - 200;
        let mut session = session_by(Arc::new(Talkative(bytes))).await;
        session.submit(documents(2)).await.unwrap();
        assert_eq!(home(&mut session, bytes).await, 2);
    }

    fn documents(count: usize) -> Vec<Document> {
        (0..count).map(|n| Document::text(n.to_string(), "Text.")).collect()
    }

    fn outcomes(events: &[Event]) -> usize {
        events.iter().filter(|event| matches!(event.what, Happening::Outcome(_))).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_future_that_is_dropped_half_way_loses_nothing() {
        let mut session = session(Model { limiter: Kind::None, ..Model::default() }).await;
        session.submit(documents(20)).await.unwrap();
        let mut home = 0;
        while !session.is_done().await.unwrap() {
            for patience in [0, 700, 1_000, 1_300, 60_000] {
                let next = session.next(Duration::from_secs(60));
                let events = tokio::time::timeout(Duration::from_millis(patience), next).await;
                home += events.map_or(0, |events| outcomes(&events.unwrap()));
            }
        }
        assert_eq!(home, 20);
    }

    #[tokio::test(start_paused = true)]
    async fn more_than_the_sandbox_holds_is_not_taken() {
        let mut session = session(Model { limiter: Kind::None, ..Model::default() }).await;
        let text = "x".repeat(64 * 1024 * 1024);
        let large = |n: usize| Document::text(n.to_string(), text.clone());
        assert!(matches!(session.submit((0..16).map(large).collect()).await, Err(Error::Full(_))));
        session.submit((0..4).map(large).collect()).await.unwrap();
        assert!(matches!(session.submit(vec![large(4)]).await, Err(Error::Full(_))));
        let mut home = 0;
        while !session.is_done().await.unwrap() {
            home += outcomes(&session.next(Duration::from_secs(60)).await.unwrap());
        }
        assert_eq!(home, 4, "and what was taken comes home");
        session.submit(vec![large(4)]).await.unwrap();
    }
}
