//! The contract in wit/, as Rust types. This file adds no meaning to it.

#![allow(missing_docs, reason = "generated from wit/, where every item is documented")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "batch",
    exports: { default: async },
    additional_derives: [PartialEq],
});

pub use self::exports::becalm::batch::analyzer::{
    Answer, Chat, Document, Endpoint, Event, Failure, FailureKind, Fault, Happening, Header, IgnoredHint, Input, Limit,
    LimitSource, Limits, Outcome, Pause, PauseReason, PostponeReason, Postponement, Rate, Refusal, Report, Retry, Sent,
    Settings, SettingsError, Status, SubmitError, Timeouts, Unit, Usage, Verdict,
};

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
