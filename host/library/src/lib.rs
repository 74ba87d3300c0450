//! Brings a batch of prompts home through a rate limit.
//!
//! The policy runs as a sandboxed WebAssembly component; this library runs the component in wasmtime, gives it HTTP with
//! the API key added outside the sandbox, and, if it is asked to, reads documents from files and writes outcomes into one.
//!
//! ```no_run
//! # async fn example() -> Result<(), becalm::Error> {
//! use std::time::Duration;
//!
//! let sandbox = becalm::Sandbox::new()?;
//! let mut settings = sandbox.default_settings().await?;
//! settings.endpoint.base_url = "https://api.example.com/v1".into();
//! settings.chat.model = "some-model".into();
//! let access = becalm::Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
//! let sender = becalm::Pool::new(&settings.timeouts, &becalm::Route::default())?;
//! let mut session = sandbox.open(settings, access, sender).await?;
//! session.submit(vec![becalm::Document::text("a", "Some text.")]).await?;
//! while !session.is_done().await? {
//!     for event in session.next(Duration::from_secs(1)).await? {
//!         println!("{event:?}");
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! - `pool`, the default: [`Pool`], the HTTP client. Without it the embedder carries the requests, by a [`Sender`] of its own.
//! - `files`: [`documents`] from files and folders, and [`outcomes`] into a file that a later run goes on from.
//! - `server-models`: [`server`], servers with a rate limit, over TCP and in process, with what tokio needs to have its clock
//!   paused.

#![deny(missing_docs)]

mod contract;
pub use contract::{
    Admits, Answer, Chat, Document, Endpoint, Event, Failure, FailureKind, Fault, Happening, Header, IgnoredHint,
    Input, Limit, LimitSource, Limits, Outcome, Pause, PauseReason, PostponeReason, Postponement, Rate, Refusal,
    Report, Retry, Sent, Settings, SettingsError, Status, SubmitError, Timeouts, Unit, Usage, Verdict,
};

mod error;
pub use error::Error;

mod cache;
mod sandbox;
mod walls;
pub use sandbox::{COMPONENT, CONTRACT, Guest, Sandbox};
/// The runtime, in the version that this library is built with.
pub use wasmtime;

mod flow;
mod session;
pub use session::Session;

mod clock;
pub use clock::Clock;

pub mod http;
pub use http::{Access, Metered, Sender};
#[cfg(feature = "pool")]
pub use http::{Pool, Route};

#[cfg(feature = "files")]
pub mod documents;

#[cfg(feature = "files")]
pub mod outcomes;

#[cfg(feature = "server-models")]
pub mod server;
