//! Plays a scenario with the policy alone: no component, no WebAssembly, the plainest driver that there can be.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use becalm_policy::{
    About, Action, Admits, Delay, DocumentKey, Ending, Epoch, Limit, Machine, News, Now, Outcome, Rate, Refusal, Reply,
    Settings, Tick, TransportError, Trouble, Unit,
};
use bytes::Bytes;
use http::Request;
use tokio::time::{Instant, sleep_until};

use super::EPOCH;
use super::endpoint::{Coming, Endpoint, errors};
use super::scenario::{Line, Scenario, Told, name};

type Trying = Pin<Box<dyn Future<Output = Result<Reply, TransportError>>>>;

pub(crate) async fn play(scenario: &Scenario) -> Vec<Line> {
    let mut run = Run {
        machine: Machine::new(settings(&scenario.settings), scenario.settings.seed.unwrap_or(1)),
        endpoint: Endpoint::of(scenario),
        url: format!("{}/chat/completions", scenario.settings.base_url()),
        started: Instant::now(),
        documents: BTreeMap::new(),
        trying: BTreeMap::new(),
        lines: vec![],
    };
    for (n, (body, most)) in scenario.documents.bodies().into_iter().enumerate() {
        let key = run.machine.submit((body.len() as u64).div_ceil(4) + most);
        run.documents.insert(key, (n + 1, body));
    }
    while run.step().await {}
    run.lines
}

struct Run {
    machine: Machine,
    endpoint: Endpoint,
    url: String,
    started: Instant,
    documents: BTreeMap<DocumentKey, (usize, String)>,
    trying: BTreeMap<DocumentKey, Trying>,
    lines: Vec<Line>,
}

impl Run {
    fn now(&self) -> Now {
        let ms = self.started.elapsed().as_millis() as u64;
        Now { tick: Tick::from_ms(ms), epoch: Epoch::from_ms(EPOCH * 1_000 + ms) }
    }

    /// One action. Says whether there is more to do.
    async fn step(&mut self) -> bool {
        let now = self.now();
        let action = self.machine.next_action(now);
        self.lines.extend(line(now.tick, &action, |document| self.documents[&document].0));
        match action {
            Action::Send { document, .. } => {
                let body = self.documents[&document].1.clone();
                self.trying.insert(document, Box::pin(attempted(self.endpoint.clone(), self.url.clone(), body)));
            }
            Action::Abort { document } => drop(self.trying.remove(&document)),
            Action::Finish { document, .. } => drop(self.documents.remove(&document)),
            Action::Tell(_) => {}
            Action::Wait(until) => self.wait(until).await,
            Action::Idle => return false,
        }
        true
    }

    /// Until that instant or until requests end; of those that end at once, the first document comes first.
    async fn wait(&mut self, until: Option<Tick>) {
        let until = until.map(|until| self.started + std::time::Duration::from_millis(until.as_ms()));
        let mut timer = Box::pin(async move {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        });
        let trying = &mut self.trying;
        let ended = poll_fn(|context| {
            let is_over = timer.as_mut().poll(context).is_ready();
            let ended: Vec<_> = trying
                .iter_mut()
                .filter_map(|(document, trying)| match trying.as_mut().poll(context) {
                    Poll::Ready(end) => Some((*document, end)),
                    Poll::Pending => None,
                })
                .collect();
            if is_over || !ended.is_empty() { Poll::Ready(ended) } else { Poll::Pending }
        })
        .await;
        for (document, end) in ended {
            self.trying.remove(&document);
            match end {
                Ok(reply) => self.machine.handle_reply(document, &reply, self.now()),
                Err(error) => self.machine.handle_transport_error(document, error, self.now()),
            }
        }
    }
}

/// What a timeline says of this action, if anything; documents have numbers there.
pub(crate) fn line(at: Tick, action: &Action, number: impl Fn(DocumentKey) -> usize) -> Option<Line> {
    let (what, detail) = match action {
        Action::Send { document, attempt, in_flight } => {
            (format!("sent {}", number(*document)), format!("attempt {attempt}, {in_flight} in flight"))
        }
        Action::Finish { document, outcome } => ended(number(*document), outcome),
        Action::Tell(news) => told(news, number)?,
        Action::Abort { .. } | Action::Wait(_) | Action::Idle => return None,
    };
    Some(Line { at_ms: at.as_ms(), what, detail })
}

fn ended(id: usize, outcome: &Outcome) -> (String, String) {
    let tries = format!("{} {} {}", outcome.attempts, outcome.refusals, outcome.waited.as_ms());
    let (what, detail) = match &outcome.ending {
        Ending::Answered(answer) => (
            format!("answered {id}"),
            format!("{:?} {:?} {:?} {:?}", answer.text, answer.note, answer.finish_reason, answer.request_id),
        ),
        Ending::Failed(failure) => {
            (format!("failed {id} {}", name(failure.kind)), format!("{} {:?}", failure.message, failure.status))
        }
        Ending::Postponed(postponement) => {
            let until = postponement.until.map(Tick::as_ms);
            (format!("postponed {id} {}", name(postponement.reason)), format!("{} {until:?}", postponement.message))
        }
    };
    (what, format!("{detail} {tries}"))
}

fn told(news: &News, number: impl Fn(DocumentKey) -> usize) -> Option<(String, String)> {
    Some(match news {
        News::Refused(refused) => {
            let Refusal { status, wait, jitter, message, .. } = refused;
            let detail = format!("{status} {} {} {message}", wait.as_ms(), jitter.as_ms());
            (format!("refused {} by {}", number(refused.document), refused.source), detail)
        }
        News::Faulted(trouble) => {
            let Trouble { failure, wait, jitter, source, .. } = trouble;
            let detail = format!("{} {:?} {} {}", failure.message, failure.status, wait.as_ms(), jitter.as_ms());
            (format!("faulted {} by {source}", number(trouble.document)), detail)
        }
        News::HintIgnored(hint) => (format!("ignored {}", hint.name), hint.value.clone()),
        News::Learnt(Limit { admits, source, cycles }) => {
            let admits = match admits {
                Admits::Rate(Rate { unit, amount, window }) => {
                    format!("{amount} {} per {} ms", name(unit), window.as_ms())
                }
                Admits::InFlight(requests) => format!("{requests} in flight"),
            };
            (format!("learnt {admits} from {}", name(source)), format!("{cycles} cycles"))
        }
        News::Halted(failure) => (format!("halted {}", name(failure.kind)), failure.message.clone()),
        News::Paused(_) | News::Resumed => return None,
    })
}

async fn attempted(endpoint: Endpoint, url: String, body: String) -> Result<Reply, TransportError> {
    let request = Request::post(url).header("content-type", "application/json");
    let Coming { answer, error } = endpoint.answer(request.body(Bytes::from(body)).unwrap()).await;
    // The component reads the head first, the body in its next turn; a timer of the same instant comes between.
    tokio::task::yield_now().await;
    if let Some(error) = error {
        // wasmtime tells a guest no more than this of an answer that is cut off.
        let cut_off = answer.is_some().then_some(TransportError::ConnectionTerminated);
        return Err(cut_off.unwrap_or_else(|| errors(&error).1));
    }
    let (parts, body) = answer.unwrap().into_parts();
    let fields = parts.headers.iter().map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())));
    Ok(Reply { status: parts.status.as_u16(), headers: fields.collect(), body: body.to_vec() })
}

fn settings(told: &Told) -> Settings {
    let default = Settings::default();
    let rates = told.rates.iter().map(|rate| Rate {
        unit: if rate.tokens.is_some() { Unit::Tokens } else { Unit::Requests },
        amount: rate.tokens.or(rate.requests).unwrap(),
        window: Delay::from_ms(rate.window_ms),
    });
    let ms = |told: Option<u64>, default| told.map_or(default, Delay::from_ms);
    Settings {
        max_in_flight: told.max_in_flight.unwrap_or(default.max_in_flight),
        rates: rates.collect(),
        pace: ms(told.pace_ms, default.pace),
        max_attempts: told.max_attempts.unwrap_or(default.max_attempts),
        jitter: ms(told.jitter_ms, Delay::ZERO),
        patience: ms(told.patience_ms, default.patience),
        fallback_wait: told.fallback_wait_ms.map(Delay::from_ms),
        whole_request: ms(told.whole_request_ms, default.whole_request),
        about: About {
            url: format!("{}/chat/completions", told.base_url()),
            model: told.model.clone().unwrap_or_default(),
        },
        ..default
    }
}
