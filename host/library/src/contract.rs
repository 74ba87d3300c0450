//! The contract in wit/, as Rust types. This file adds no meaning to it.

#![allow(missing_docs, reason = "generated from wit/, where every item is documented")]

use std::fmt;

wasmtime::component::bindgen!({
    path: "wit",
    world: "batch",
    exports: { default: async },
    additional_derives: [PartialEq],
});

pub use self::exports::becalm::batch::analyzer::{
    Admits, Answer, Chat, Document, Endpoint, Event, Failure, FailureKind, Fault, Happening, Header, IgnoredHint,
    Input, Limit, LimitSource, Limits, Outcome, Pause, PauseReason, PostponeReason, Postponement, Rate, Refusal,
    Report, Retry, Sent, Settings, SettingsError, Status, SubmitError, Timeouts, Unit, Usage, Verdict,
};

/// In words: the text of an answer, else why there is none.
impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(answer) => formatter.write_str(answer.text.as_deref().unwrap_or_default()),
            Self::Failed(failure) => write!(formatter, "failed: {}", failure.message),
            Self::Postponed(postponement) => write!(formatter, "postponed: {}", postponement.message),
        }
    }
}

impl Admits {
    /// So much per window, if it is that.
    pub const fn rate(&self) -> Option<Rate> {
        match self {
            Self::Rate(rate) => Some(*rate),
            Self::InFlight(_) => None,
        }
    }

    /// So many requests at one time, if it is that.
    pub const fn in_flight(&self) -> Option<u32> {
        match self {
            Self::Rate(_) => None,
            Self::InFlight(requests) => Some(*requests),
        }
    }
}

impl Document {
    /// A text to analyse with the batch's prompt.
    pub fn text(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), input: Input::Text(text.into()) }
    }

    /// What it contains, text or request.
    pub fn content(&self) -> &str {
        match &self.input {
            Input::Text(content) | Input::Request(content) => content,
        }
    }

    /// A whole chat-completion body, as JSON object.
    pub fn request(id: impl Into<String>, body: impl Into<String>) -> Self {
        Self { id: id.into(), input: Input::Request(body.into()) }
    }
}
