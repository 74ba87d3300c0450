//! An endpoint in trouble: what it does with a request, drawn from a seed.

use becalm_policy::{Reply, TransportError};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

pub(crate) type Ending = Result<Reply, TransportError>;

/// Its troubles: how often a request fails, when nobody is there, which documents it never takes, and how many it admits.
#[derive(Debug)]
pub(crate) struct Endpoint {
    chance: Xoshiro256PlusPlus,
    faults_per_thousand: u32,
    outages: Vec<(u64, Trouble)>,
    bad: Vec<(usize, Trouble)>,
    limit: Option<(usize, u64)>,
    admitted_at: Vec<u64>,
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Status(u16),
    HalfAnswer,
    Transport(TransportError),
}

impl Endpoint {
    pub(crate) fn of(seed: u64, documents: usize) -> Self {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut start = 0;
        let outages = (0..chance.random_range(0..3))
            .map(|_| {
                start += chance.random_range(5_000..60_000) + OUTAGE_MS;
                (start, *pick(&mut chance, &OUTAGES))
            })
            .collect();
        let bad = (0..chance.random_range(0..4))
            .map(|_| {
                (chance.random_range(0..documents), *pick(&mut chance, &[Trouble::Status(429), Trouble::Status(500)]))
            })
            .collect();
        let limit = chance.random_bool(0.5).then(|| (chance.random_range(5..50), chance.random_range(1_000..10_000)));
        Self { faults_per_thousand: chance.random_range(0..30), chance, outages, bad, limit, admitted_at: vec![] }
    }

    /// Whether it never takes this document.
    pub(crate) fn is_bad(&self, document: usize) -> bool {
        self.bad.iter().any(|(bad, _)| *bad == document)
    }

    /// What becomes of a request that is there now, and after how many milliseconds that is known.
    pub(crate) fn answer(&mut self, document: usize, now_ms: u64) -> (u64, Ending) {
        let quick = self.chance.random_range(5..50);
        if let Some((_, trouble)) = self.outages.iter().find(|(from, _)| (*from..from + OUTAGE_MS).contains(&now_ms)) {
            return (quick, trouble.ending(None));
        }
        if let Some((_, trouble)) = self.bad.iter().find(|(bad, _)| *bad == document) {
            return (quick, trouble.ending(Some(1)));
        }
        if self.chance.random_range(0..1_000) < self.faults_per_thousand {
            return (quick, pick(&mut self.chance, &FAULTS).ending(None));
        }
        if let Some((amount, window_ms)) = self.limit {
            self.admitted_at.retain(|at| at + window_ms > now_ms);
            if self.admitted_at.len() >= amount {
                let hint_s = (self.admitted_at[0] + window_ms - now_ms).div_ceil(1_000);
                return (quick, Trouble::Status(429).ending(Some(hint_s)));
            }
            self.admitted_at.push(now_ms);
        }
        (self.chance.random_range(50..1_000), Ok(reply(200, None, COMPLETION)))
    }
}

impl Trouble {
    fn ending(self, hint_s: Option<u64>) -> Ending {
        match self {
            Self::Status(status) => Ok(reply(status, hint_s, "")),
            Self::HalfAnswer => Ok(reply(200, None, &COMPLETION.replace("stop", "error"))),
            Self::Transport(error) => Err(error),
        }
    }
}

fn reply(status: u16, hint_s: Option<u64>, body: &str) -> Reply {
    let headers = hint_s.map(|hint| ("retry-after", hint.to_string()));
    Reply { status, headers: headers.into_iter().collect(), body: body.into() }
}

fn pick<'a, T>(chance: &mut Xoshiro256PlusPlus, all: &'a [T]) -> &'a T {
    &all[chance.random_range(0..all.len())]
}

const OUTAGE_MS: u64 = 30_000;
const COMPLETION: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
const OUTAGES: [Trouble; 6] = [
    Trouble::Status(500),
    Trouble::Status(502),
    Trouble::Status(503),
    Trouble::Status(504),
    Trouble::Status(522),
    Trouble::Transport(TransportError::ConnectionRefused),
];
const FAULTS: [Trouble; 14] = [
    Trouble::Status(408),
    Trouble::Status(409),
    Trouble::Status(424),
    Trouble::Status(425),
    Trouble::Status(498),
    Trouble::Status(500),
    Trouble::Status(502),
    Trouble::Status(503),
    Trouble::Status(520),
    Trouble::Status(529),
    Trouble::HalfAnswer,
    Trouble::Transport(TransportError::ConnectionTerminated),
    Trouble::Transport(TransportError::HttpResponseIncomplete),
    Trouble::Transport(TransportError::ConnectionReadTimeout),
];
