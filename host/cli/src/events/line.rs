//! The one form of an event, as `--json` and `--events` write it and `becalm report` reads it. Answers are in the results;
//! here only their names. What older versions did not write has a default.

use serde::{Deserialize, Serialize};

use crate::events::limits::{LimitLine, RateLine};

/// Something that happened, and when.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct EventLine {
    #[serde(flatten)]
    pub(crate) what: What,
    pub(crate) at_epoch_ms: u64,
}

/// What happened.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum What {
    /// A run begins.
    Started {
        documents: Option<u64>,
        #[serde(default)]
        answered_before: u64,
        #[serde(default)]
        failed_before: u64,
        #[serde(default)]
        max_in_flight: u32,
        #[serde(default)]
        limits: Vec<RateLine>,
    },
    Warning {
        message: String,
    },
    Sent {
        id: String,
        #[serde(default)]
        attempt: u32,
        #[serde(default)]
        in_flight: u32,
    },
    Outcome {
        id: String,
        outcome: String,
        #[serde(default)]
        attempts: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<FailureLine>,
    },
    /// Nothing is sent until then.
    Paused {
        #[serde(default)]
        until_epoch_ms: u64,
        /// `refused`, `limit`, `pace` or `back-off`.
        #[serde(default)]
        reason: String,
        limit: Option<RateLine>,
    },
    Resumed,
    Learnt(LimitLine),
    HintIgnored {
        name: String,
        value: String,
    },
    Refused {
        id: String,
        #[serde(default)]
        status: u16,
        #[serde(default)]
        wait_ms: u64,
        #[serde(default)]
        jitter_ms: u64,
        #[serde(default)]
        source: String,
        /// What the endpoint said.
        #[serde(default)]
        message: String,
        /// Name and value; what may be secret is masked.
        #[serde(default)]
        headers: Vec<[String; 2]>,
    },
    Faulted {
        id: String,
        status: Option<u16>,
        /// Whether it may have been charged.
        #[serde(default)]
        reached: bool,
        #[serde(default)]
        message: String,
        #[serde(default)]
        wait_ms: u64,
        #[serde(default)]
        jitter_ms: u64,
        #[serde(default)]
        source: String,
    },
    Halted(FailureLine),
    Summary(Box<SummaryLine>),
    /// Of another version.
    #[serde(other)]
    Unknown,
}

/// Why a document, or the batch, failed.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct FailureLine {
    #[serde(default)]
    pub(crate) message: String,
    pub(crate) status: Option<u16>,
}

/// The figures of a run.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct SummaryLine {
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) postponed: u64,
    pub(crate) answered_before: u64,
    pub(crate) failed_before: u64,
    pub(crate) not_sent: u64,
    pub(crate) refusals: u64,
    /// Answers that end at `max_tokens`, that have no text, or that the model or a content filter withheld.
    pub(crate) cut_off: u64,
    pub(crate) empty: u64,
    pub(crate) refused_by_model: u64,
    /// Refused at least once, and answered in the end.
    pub(crate) recovered: u64,
    pub(crate) wait_p50_ms: Option<u64>,
    pub(crate) wait_p95_ms: Option<u64>,
    pub(crate) jitter_least_ms: Option<u64>,
    pub(crate) jitter_most_ms: Option<u64>,
    pub(crate) elapsed_ms: u64,
    pub(crate) bound_ms: u64,
    pub(crate) efficiency: f64,
    pub(crate) bound_is_learnt: bool,
    pub(crate) limits: Vec<LimitLine>,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
    pub(crate) cost: Option<f64>,
    /// `asked`, `deadline` or `budget`.
    pub(crate) stopped: Option<String>,
    pub(crate) halted: Option<FailureLine>,
    pub(crate) until_epoch_ms: Option<u64>,
}
