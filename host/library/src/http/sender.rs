//! Who carries the guest's requests over the network.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

use super::transport_error::TransportError;

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
