//! What can go wrong at the library's edge. A document that fails is no error: it is an outcome.

use std::error::Error as Cause;

use wasmtime::WasmBacktrace;

use crate::contract::{SettingsError, SubmitError};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting cannot be used.
    #[error("{}: {}", .0.field, .0.message)]
    Settings(SettingsError),
    /// Documents were not taken.
    #[error("{}", submit_message(.0))]
    Submit(SubmitError),
    /// Documents were not taken: with what waits already they are more than so many bytes, more than the sandbox holds. Let
    /// some come home first.
    #[error("documents of more than {} MiB cannot wait at one time", .0 / 1024 / 1024)]
    Full(usize),
    /// The base URL is none.
    #[error("the base URL {0:?} has no scheme or host")]
    BaseUrl(String),
    /// A name and password stand in the base URL; neither is sent.
    #[error("the base URL has a name and password in it, and they are not sent")]
    Credentials,
    /// The key has characters that no header can carry.
    #[error("the API key cannot be sent in a header")]
    Key,
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] ClientError),
    /// The component or its runtime failed; the session is lost.
    #[error("the component failed: {0}")]
    Component(ComponentError),
}

/// Why the HTTP client cannot be built.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ClientError(Box<dyn Cause + Send + Sync>);

/// What the component or its runtime said when it failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ComponentError(String);

impl ClientError {
    #[cfg(feature = "pool")]
    pub(crate) fn new(error: impl Cause + Send + Sync + 'static) -> Self {
        Self(error.into())
    }
}

impl Error {
    /// Of the runtime: the cause, and where it was met, because a panic says nothing else.
    #[allow(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
    pub(crate) fn component(error: wasmtime::Error) -> Self {
        let frames = error.downcast_ref::<WasmBacktrace>().into_iter().flat_map(WasmBacktrace::frames);
        let names = frames.filter_map(|frame| frame.func_name()).map(|name| format!("\n  at {name}"));
        Self::Component(ComponentError(format!("{}{}", error.root_cause(), names.collect::<String>())))
    }

    /// The session's task has ended.
    pub(crate) fn lost() -> Self {
        Self::Component(ComponentError("the session is lost".into()))
    }
}

fn submit_message(error: &SubmitError) -> String {
    match error {
        SubmitError::DuplicateId(id) => format!("the id {id:?} is in use by another document"),
        SubmitError::Stopped => "the session takes no more documents".into(),
    }
}
