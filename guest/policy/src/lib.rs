//! The policy of becalm: when a request may go, how long a refusal makes everyone wait, what a reply means, and what
//! becomes of a document. Data in, decisions out: there is no clock, no chance, no socket and no file in here, and
//! `no_std` keeps it so. The order below is the order in which a document meets them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod settings;
pub use settings::{About, DAY, Rate, Settings, SettingsError, Unit, span};

mod time;
pub use time::{Delay, Epoch, Now, Tick};

mod machine;
pub use machine::{Action, DocumentKey, Machine, News, Pause, PauseReason, Refusal, Tally, Trouble};

mod usual;

mod gate;

mod allowance;

mod limiter;

mod belief;
pub use belief::{Admits, Limit, LimitSource};

pub mod learner;

mod backoff;

mod retry_budget;

mod reply;
pub use reply::{Headers, Reply};

mod transport;
pub use transport::TransportError;

mod hints;
pub use hints::{Budget, Hint, Hints, IgnoredHint};

mod verdict;
pub use verdict::{Fault, Reach, Verdict, judge, judge_transport};

mod cdn;
mod error_body;

mod failure_message;

mod answer;

mod outcome;
pub use outcome::{Answer, Ending, Failure, FailureKind, Outcome, PostponeReason, Postponement, Usage};
