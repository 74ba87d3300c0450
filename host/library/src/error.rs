//! What can go wrong at the library's edge. A document that fails is no error: it is an outcome.

use std::error::Error as Cause;

use wasmtime::WasmBacktrace;

use crate::contract::{SettingsError, SubmitError};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting cannot be used.
    #[error("{}: {}", .0.field, .0.message)]
    Settings(SettingsError),
    /// Documents were not taken.
    #[error("{}", submit_message(.0))]
    Submit(SubmitError),
    /// The base URL is none.
    #[error("the base URL {0:?} has no scheme or host")]
    BaseUrl(String),
    /// The key has characters that no header can carry.
    #[error("the API key cannot be sent in a header")]
    Key,
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] Box<dyn Cause + Send + Sync>),
    /// The component or its runtime failed; the session is lost.
    #[error("the component failed: {}", component_message(.0))]
    Component(wasmtime::Error),
}

fn submit_message(error: &SubmitError) -> String {
    match error {
        SubmitError::DuplicateId(id) => format!("the id {id:?} is in use by another document"),
        SubmitError::Stopped => "the session takes no more documents".into(),
    }
}

/// The cause, and where it was met: a panic says nothing else.
fn component_message(error: &wasmtime::Error) -> String {
    let frames = error.downcast_ref::<WasmBacktrace>().into_iter().flat_map(WasmBacktrace::frames);
    let names = frames.filter_map(|frame| frame.func_name()).map(|name| format!("\n  at {name}"));
    format!("{}{}", error.root_cause(), names.collect::<String>())
}

impl From<wasmtime::Error> for Error {
    fn from(error: wasmtime::Error) -> Self {
        Self::Component(error)
    }
}
