//! Some of the random worlds of `tests/worlds` with the real component too, in virtual time. Each has to go as it does with
//! the policy alone: every request, refusal and outcome at the same millisecond, with the same waits.

mod support;

use std::ops::Range;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker, ready};
use std::time::Duration;

use becalm::http::{Answered, Sender, Timeouts, TransportError, body};
use becalm::{Access, Clock, Document, Event, Rate, Sandbox, Session, Settings, Unit};
use becalm_policy::{DocumentKey, Reply, Tick};
use becalm_worlds::{Schedule, Seen, Wire, World, play_watched};
use bytes::Bytes;
use http::{Request, Response};
use support::scenario::Line;
use support::{on_component, on_policy};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn a_world_goes_with_the_component_as_with_the_policy_alone() {
    let mut sandbox = Sandbox::new().unwrap();
    let mut wrong = String::new();
    for seed in SEEDS.step_by(STEP) {
        let world = World::of_seed(seed);
        sandbox = sandbox.in_time(Clock::Virtual(Duration::from_millis(world.started_at_epoch_ms())));
        if let Err(problem) = compare(&sandbox, &world).await {
            wrong += &format!("\n{problem}\nreplay: cargo run --release -p becalm-worlds -- --seed {seed} # {world}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Plays it both ways. Says what is the first difference.
async fn compare(sandbox: &Sandbox, world: &World) -> Result<(), String> {
    let policy = with_policy(world)?;
    let until_ms = policy.last().map_or(0, |line| line.at_ms);
    let component = with_component(sandbox, world, until_ms).await?;
    match (0..policy.len().max(component.len())).find(|n| policy.get(*n) != component.get(*n)) {
        None => Ok(()),
        Some(n) => {
            let (policy, component) = (policy.get(n), component.get(n));
            Err(format!("after {n} events they differ:\n    policy    {policy:?}\n    component {component:?}"))
        }
    }
}

fn with_policy(world: &World) -> Result<Vec<Line>, String> {
    let mut lines = vec![];
    let played = play_watched(world, &Schedule::of(world), &mut |at_ms, seen| {
        if let Seen::Decided(action) = seen {
            lines.extend(on_policy::line(Tick::from_ms(at_ms), action, DocumentKey::index));
        }
    });
    played.failure.map_or(Ok(lines), |failure| Err(format!("the policy alone fails: {failure}")))
}

/// The same with the component, until that instant.
async fn with_component(sandbox: &Sandbox, world: &World, until_ms: u64) -> Result<Vec<Line>, String> {
    let settings = settings(world);
    let access = Access::new(&settings.endpoint.base_url, None).unwrap();
    let server = Arc::new(Server::of(world));
    let mut session = sandbox.open(settings, access, Arc::new(Client(Arc::clone(&server)))).await.unwrap();
    session.submit(documents(world)).await.unwrap();
    let epoch_ms = world.started_at_epoch_ms();
    // A task waits in line behind those that carry requests; what a test waits for itself does not.
    let run = tokio::spawn(async move {
        let mut lines = vec![];
        while let Some(wait_ms) = (until_ms + 1).checked_sub(server.now_ms()) {
            let events = server.next(&mut session, Duration::from_millis(wait_ms)).await;
            if events.is_empty() {
                break;
            }
            lines.extend(events.into_iter().filter_map(|event| on_component::line(event, epoch_ms)));
        }
        lines.retain(|line: &Line| line.at_ms <= until_ms);
        lines
    });
    run.await.map_err(|error| format!("the component fails: {error}"))
}

fn settings(world: &World) -> Settings {
    let told = becalm_worlds::settings(world);
    let mut settings = Settings::default();
    settings.endpoint.base_url = "http://model.invalid/v1".into();
    settings.limits.max_in_flight = told.max_in_flight;
    settings.limits.rates = told.rates.iter().map(rate).collect();
    settings.retry.patience = told.patience.as_ms();
    settings.seed = Some(world.seed);
    settings.trace = true;
    settings
}

fn rate(rate: &becalm_policy::Rate) -> Rate {
    let unit = match rate.unit {
        becalm_policy::Unit::Requests => Unit::Requests,
        becalm_policy::Unit::Tokens => Unit::Tokens,
    };
    Rate { unit, amount: rate.amount, window: rate.window.as_ms() }
}

/// Requests that name their document and are estimated at its tokens, or at a few where nobody counts them.
fn documents(world: &World) -> Vec<Document> {
    let document = |(number, tokens): (usize, u64)| {
        assert!(tokens >= BODY_TOKENS || world.tokens.is_none(), "no body is as small as {tokens} tokens");
        let body = format!(r#"{{"document":{number},"max_tokens":{}}}"#, tokens.saturating_sub(BODY_TOKENS));
        Document::request(number.to_string(), format!("{body:BODY_BYTES$}"))
    };
    world.job().iter().map(|document| document.tokens).enumerate().map(document).collect()
}

/// A world's server at the end of its wire.
struct Server {
    started: Instant,
    state: Mutex<State>,
}

struct State {
    wire: Wire,
    /// For each document the number of its request on the wire, and who waits for the reply.
    waiting: Vec<Option<(u64, oneshot::Sender<Reply>)>>,
    /// Of who looks after the wire.
    waker: Waker,
}

impl Server {
    fn of(world: &World) -> Self {
        let wire = Wire::new(world, &Schedule::of(world));
        let waiting = (0..world.documents).map(|_| None).collect();
        Self { started: Instant::now(), state: Mutex::new(State { wire, waiting, waker: Waker::noop().clone() }) }
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What happened in a session since the last call. Whatever wakes it, what is due on the wire comes first: else it would
    /// depend on the order of tokio's timers.
    async fn next(&self, session: &mut Session, wait: Duration) -> Vec<Event> {
        let mut events = pin!(session.next(wait));
        let mut timer = pin!(sleep(Duration::ZERO));
        std::future::poll_fn(|context| {
            loop {
                if self.deliver() {
                    // After those who have got replies.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                if let Poll::Ready(events) = events.as_mut().poll(context) {
                    return Poll::Ready(events.unwrap());
                }
                let mut state = self.state();
                state.waker.clone_from(context.waker());
                let Some(at_ms) = state.wire.next_at_ms() else { return Poll::Pending };
                timer.as_mut().reset(self.started + Duration::from_millis(at_ms));
                ready!(timer.as_mut().poll(context));
            }
        })
        .await
    }

    /// Everything happens on the wire that is due. Says whether there were replies.
    fn deliver(&self) -> bool {
        let mut state = self.state();
        let State { wire, waiting, .. } = &mut *state;
        wire.advance(self.now_ms(), |_, _| {});
        let mut has_replies = false;
        while let Some((document, reply)) = wire.next_returned() {
            let (_, answer) = waiting[document].take().unwrap();
            has_replies |= answer.send(reply.clone()).is_ok();
        }
        has_replies
    }
}

/// Carries the component's requests to a server.
struct Client(Arc<Server>);

impl Sender for Client {
    fn send(&self, request: Request<Bytes>, _timeouts: Timeouts) -> Answered {
        let server = Arc::clone(&self.0);
        let document = serde_json::from_slice::<serde_json::Value>(request.body()).unwrap()["document"].as_u64();
        let document = document.unwrap() as usize;
        let (answer, answered) = oneshot::channel();
        let mut state = server.state();
        let number = state.wire.send(server.now_ms(), document);
        state.waiting[document] = Some((number, answer));
        state.waker.wake_by_ref();
        drop(state);
        let waits = Waits { server, document, number };
        Box::pin(async move {
            let reply = answered.await.map_err(|_| TransportError::ConnectionTerminated)?;
            drop(waits);
            Ok(response(reply))
        })
    }
}

/// Whoever drops it before the reply has come waits no more.
struct Waits {
    server: Arc<Server>,
    document: usize,
    number: u64,
}

impl Drop for Waits {
    fn drop(&mut self) {
        let State { wire, waiting, .. } = &mut *self.server.state();
        if waiting[self.document].take_if(|(number, _)| *number == self.number).is_some() {
            wire.give_up(self.document);
        }
    }
}

fn response(reply: Reply) -> Response<becalm::http::Body> {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers.iter() {
        response = response.header(name, value);
    }
    response.body(body(reply.body)).unwrap()
}

/// Of 2,000 worlds every hundredth, and three between: the kind goes by the seed modulo 16, so these are of all kinds.
const SEEDS: Range<u64> = 10_000..12_000;
const STEP: usize = 25;
/// There is a token for every four of them.
const BODY_BYTES: usize = 40;
const BODY_TOKENS: u64 = 10;
