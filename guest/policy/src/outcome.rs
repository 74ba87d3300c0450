//! What became of a document: exactly one of three things.

use alloc::string::String;

use crate::time::{Delay, Tick};

/// The end of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Requests sent for it; 0 if none was.
    pub attempts: u32,
    /// How many of them were refused.
    pub refusals: u32,
    /// Time between the end of a refused or failed try and the start of the next, summed up.
    pub waited: Delay,
}

/// The three ways to end.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// There is a completion.
    Answered(Answer),
    /// Trying again will not help.
    Failed(Failure),
    /// A later run can bring it home.
    Postponed(Postponement),
}

/// A completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The model's text; absent where it gave none.
    pub text: Option<String>,
    /// As the endpoint said it.
    pub finish_reason: Option<String>,
    /// What a reader should know; absent when all is well.
    pub note: Option<String>,
    /// Absent if the endpoint does not report it.
    pub usage: Option<Usage>,
    /// HTTP status.
    pub status: u16,
    /// `x-request-id` of the reply.
    pub request_id: Option<String>,
    /// The body as it came.
    pub body: String,
}

/// Tokens as counted by the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
}

/// Why trying again will not help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// For programs.
    pub kind: FailureKind,
    /// For people: what happened and what to change.
    pub message: String,
    /// HTTP status of the last try; absent where no answer came.
    pub status: Option<u16>,
    /// `x-request-id` of the last try.
    pub request_id: Option<String>,
    /// The last body as it came.
    pub body: Option<String>,
}

/// Why a document failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The endpoint does not accept the request.
    Rejected,
    /// The key is missing, wrong or not allowed to do this.
    Unauthorised,
    /// Path or model do not exist there.
    NotFound,
    /// The document does not fit.
    TooLarge,
    /// No credit or quota left.
    OutOfCredit,
    /// No answer.
    Unreachable,
    /// The endpoint's own fault, tried often enough.
    ServerFault,
    /// A success that is no completion, tried often enough.
    UnusableAnswer,
}

/// Why a document was put off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponement {
    /// For programs.
    pub reason: PostponeReason,
    /// When it can go on; absent: at any time.
    pub until: Option<Tick>,
    /// For people.
    pub message: String,
}

/// Why a document was put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostponeReason {
    /// The next slot is further away than patience.
    Patience,
    /// The caller stopped.
    Stopped,
    /// A failure that would hit every document came first.
    Halted,
}
