//! What a world is: all that its server, its network and its job are made of. How it is drawn is in `generate`.

use becalm_policy::Rate;
use becalm_policy::learner::Rules;

use crate::draws::{Draws, Purpose};

/// A server's limiter, a network and a job. Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct World {
    /// Of all its draws.
    pub seed: u64,
    /// How the server limits.
    pub kind: Kind,
    /// Requests per window.
    pub amount: u64,
    /// Length of the window.
    pub window_ms: u64,
    /// When the client starts, after the wall clock's round instant.
    pub phase_ms: u64,
    /// What a bucket holds; other kinds have none.
    pub burst: Option<u64>,
    /// The shorter window of `Kind::Two`: requests and length.
    pub short: Option<(u64, u64)>,
    /// What `Kind::Tokens` counts besides.
    pub tokens: Option<Tokens>,
    /// Requests that `Kind::Concurrency` answers at one time.
    pub cap: Option<u32>,
    /// Documents of the job.
    pub documents: usize,
    /// Requests that the client may have on the wire.
    pub max_in_flight: u32,
    /// Median time of an answer.
    pub service_ms: f64,
    /// Its log-normal spread.
    pub service_sigma: f64,
    /// The way there and back.
    pub network: Network,
    /// What a refusal says about waiting.
    pub hint: HintStyle,
    /// What limit headers call the reset; absent: there are none.
    pub headers: Option<ResetStyle>,
    /// What the client is told beforehand.
    pub known: Vec<Rate>,
    /// What disturbs it.
    pub changes: Changes,
    /// The rules by which the client learns.
    pub rules: Rules,
}

/// How a server limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// So many in any window.
    Rolling,
    /// The same, where refused requests count.
    RollingCounts,
    /// The same, and the hint counts the refused request itself.
    RollingCountsSelf,
    /// Windows that follow the wall clock.
    FixedClock,
    /// Windows that start with the first request.
    FixedFirst,
    /// The same, where refused requests count.
    FixedFirstCounts,
    /// A token bucket.
    Bucket,
    /// nginx's `limit_req` with `nodelay`: a bucket with a small burst.
    Nginx,
    /// The generic cell rate algorithm, which is a bucket.
    Gcra,
    /// The previous window, weighted by what of it is left, and the current one.
    Counter,
    /// The same, where refused requests count.
    CounterCounts,
    /// haproxy's frequency counter: the same, from the first request on.
    Haproxy,
    /// So many at one time.
    Concurrency,
    /// Two rolling windows.
    Two,
    /// Rolling windows of requests and of tokens.
    Tokens,
    /// No limit.
    Unlimited,
}

/// A budget of tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    /// Median of a document.
    pub median: f64,
    /// Per window.
    pub amount: u64,
}

/// The way to the server and back.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Least delay of one way.
    pub base_ms: f64,
    /// Most that is added, uniformly.
    pub jitter_ms: f64,
    /// Whether some delays are much longer.
    pub is_heavy: bool,
}

/// What a refusal says about waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintStyle {
    /// Nothing.
    None,
    /// `retry-after-ms`.
    Exact,
    /// `Retry-After` in whole seconds, rounded up.
    RoundedUp,
    /// `Retry-After` as a date, with a `Date`.
    Date,
    /// Always the same, mostly too short, in milliseconds.
    Short(u64),
    /// Always the same, mostly too long, in milliseconds.
    Long(u64),
}

/// What limit headers call the reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResetStyle {
    /// The end of the window.
    End,
    /// When the next request may go.
    Slot,
    /// When nothing is used any more.
    Full,
}

/// What disturbs a world.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Whether others use the limit too, a third of it.
    pub strangers: bool,
    /// The limit becomes so many times itself.
    pub factor: Option<f64>,
    /// The share of requests that get a 503.
    pub faults: f64,
    /// What its `Retry-After` says.
    pub fault_hint_s: Option<u64>,
    /// A refusal for no reason.
    pub stray: Option<Stray>,
    /// The share of the ideal time after which the server is gone for 30 s.
    pub outage: Option<f64>,
    /// Documents that are refused whatever happens.
    pub poison: usize,
}

/// A refusal for no reason.
#[derive(Clone, Copy, Debug)]
pub struct Stray {
    /// Which request gets it, from 1 on.
    pub number: u64,
    /// What its `Retry-After` says.
    pub hint_s: Option<u64>,
}

/// What the client wants to have answered.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// What it takes of a budget of tokens.
    pub tokens: u64,
    /// Whether it is refused whatever happens.
    pub is_poison: bool,
}

impl World {
    /// 50 documents, 8 in flight, answers after 200 ms, and a server that rounds its hints up.
    pub fn plain(kind: Kind, amount: u64, window_ms: u64) -> Self {
        Self {
            seed: 0,
            kind,
            amount,
            window_ms,
            phase_ms: 7_000 % window_ms,
            burst: None,
            short: None,
            tokens: None,
            cap: None,
            documents: 50,
            max_in_flight: 8,
            service_ms: 200.0,
            service_sigma: 0.0,
            network: Network { base_ms: 1.0, jitter_ms: 0.0, is_heavy: false },
            hint: HintStyle::RoundedUp,
            headers: None,
            known: vec![],
            changes: Changes::default(),
            rules: Rules::ALL,
        }
    }

    /// Requests per millisecond.
    pub fn rate(&self) -> f64 {
        self.amount as f64 / self.window_ms as f64
    }

    /// The wall clock when the client starts.
    pub const fn started_at_epoch_ms(&self) -> u64 {
        MONDAY + self.phase_ms
    }

    /// Whether the server limits requests per time.
    pub const fn limits_rate(&self) -> bool {
        !matches!(self.kind, Kind::Concurrency | Kind::Unlimited)
    }

    /// Whether nothing disturbs it, and hints are not far too long.
    pub const fn is_benign(&self) -> bool {
        let Changes { strangers, factor, faults, stray, outage, poison, .. } = &self.changes;
        let is_calm = !*strangers && factor.is_none() && stray.is_none() && outage.is_none() && *poison == 0;
        is_calm && *faults == 0.0 && !matches!(self.hint, HintStyle::Long(_))
    }

    /// The documents of the job, in their order.
    pub fn job(&self) -> Vec<Document> {
        let mut draws = Draws::of(self.seed, Purpose::Documents);
        let document = |tokens| Document { tokens, is_poison: false };
        let mut documents: Vec<_> = (0..self.documents).map(|_| document(self.document_tokens(&mut draws))).collect();
        let mut poison = self.changes.poison.min(self.documents.saturating_sub(1));
        while poison > 0 {
            let chosen = &mut documents[draws.between(0.0, self.documents as f64) as usize];
            poison -= usize::from(!std::mem::replace(&mut chosen.is_poison, true));
        }
        documents
    }

    /// No more than a window has, also after a change: else it could never be admitted.
    fn document_tokens(&self, draws: &mut Draws) -> u64 {
        let Some(tokens) = self.tokens else { return 1 };
        let most = tokens.amount as f64 * self.changes.factor.unwrap_or(1.0).min(1.0);
        (tokens.median * draws.log_normal(0.5)).min(most).max(1.0) as u64
    }
}

impl HintStyle {
    /// Without the number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Exact => "exact",
            Self::RoundedUp => "rounded up",
            Self::Date => "date",
            Self::Short(_) => "short",
            Self::Long(_) => "long",
        }
    }
}

/// 2026-11-30T12:00:00Z, a round instant for all usual windows.
const MONDAY: u64 = 1_796_040_000_000;
