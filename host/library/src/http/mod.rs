//! The network side of the sandbox: what the guest may reach (`access`), where wasmtime hands its requests over
//! (`hooks`, `link`), the client that carries them (`pool`), what must not come back (`redaction`), and how long they take
//! (`meter`).

mod access;
mod hooks;
mod link;
mod meter;
#[cfg(feature = "pool")]
mod pool;
mod redaction;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

pub use self::access::Access;
pub(crate) use self::hooks::Hooks;
pub(crate) use self::link::add_to_linker;
pub use self::meter::Metered;
#[cfg(feature = "pool")]
pub use self::pool::{Pool, Route};
/// How a request ends without an answer; the guest sees the code of the same name.
pub use wasmtime_wasi_http::Error as TransportError;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, TransportError>;

/// A body that is all there.
pub fn body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An answer, or how there came none.
pub type Answered = Pin<Box<dyn Future<Output = Result<http::Response<Body>, TransportError>> + Send>>;

/// Carries requests. Dropping the future, or later the body, aborts the request.
pub trait Sender: Send + Sync {
    /// Starts a request, whole body included.
    fn send(&self, request: http::Request<Bytes>, timeouts: Timeouts) -> Answered;
}

/// How long a request may take; absent: as long as it likes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// Until the head of the answer.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the answer.
    pub between_bytes: Option<Duration>,
}
