//! Brings a batch of prompts home through a rate limit.
//!
//! The policy runs as a sandboxed WebAssembly component; this library runs the component in wasmtime, gives it HTTP with
//! the API key added outside the sandbox, and, if it is asked to, reads documents from files and writes outcomes into one.
//!
//! ```no_run
//! # async fn example() -> Result<(), becalm::Error> {
//! use becalm::{Access, Document, Happening, Pool, Route, Sandbox, Settings};
//! use futures_util::{StreamExt, stream};
//!
//! let settings = Settings::new("https://api.example.com/v1", "some-model");
//! let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
//! let pool = Pool::new(&settings.timeouts, &Route::default())?;
//! let session = Sandbox::new()?.open(settings, access, pool).await?;
//! let documents = stream::iter([Document::text("a", "Some text."), Document::text("b", "Another one.")]);
//! let mut events = Box::pin(session.analyze(documents));
//! while let Some(event) = events.next().await {
//!     if let Happening::Outcome(outcome) = event?.what {
//!         println!("{}: {}", outcome.id, outcome.verdict);
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! - `pool`, the default: [`Pool`], the HTTP client. Without it the embedder carries the requests, by a [`Sender`] of its own.
//! - `files`: [`documents`] from files and folders, and [`outcomes`] into a file that a later run goes on from.
//! - `engine`: the sandbox in a wasmtime engine or configuration of the embedder's own, of the version that [`wasmtime`] is.
//!   Without it, wasmtime is no part of this library's interface.
//! - `server-models`: [`server`], servers with a rate limit, over TCP and in process, with what tokio needs to have its clock
//!   paused.

#![deny(missing_docs)]

mod contract;
pub use contract::{
    Admits, Answer, Chat, Document, Endpoint, Event, Failure, FailureKind, Fault, Happening, Header, IgnoredHint,
    Input, Limit, LimitSource, Limits, Outcome, Pause, PauseReason, PostponeReason, Postponement, Rate, Refusal,
    Report, Retry, Sent, Settings, SettingsError, Status, SubmitError, Timeouts, Unit, Usage, Verdict,
};

mod settings;

mod error;
pub use error::{ClientError, ComponentError, Error};

mod cache;
mod guest;
mod sandbox;
mod sandbox_limits;
#[cfg(feature = "engine")]
pub use guest::Guest;
pub use sandbox::{COMPONENT, CONTRACT, Sandbox};
/// The runtime, in the version that this library is built with.
#[cfg(feature = "engine")]
pub use wasmtime;

mod event_stream;
mod instance;
mod session;
mod waiting;
pub use session::Session;

mod clock;
pub use clock::Clock;

pub mod http;
pub use http::{Access, Metered, Sender};
#[cfg(feature = "pool")]
pub use http::{Pool, Route};

#[cfg(any(feature = "files", feature = "server-models"))]
mod tokens;

#[cfg(feature = "files")]
pub mod documents;

#[cfg(feature = "files")]
pub mod outcomes;

#[cfg(feature = "server-models")]
pub mod server;
