//! Where wasmtime hands the guest's requests over. `WasiHttpHooks` differs between wasmtime versions; all use of it is in
//! this file.

use std::future::Future;
use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE, HeaderName};
use http_body_util::{BodyExt, Limited};
use tracing::warn;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks,
};

use super::access::Access;
use super::sender::{Sender, Timeouts};
use super::transport_error::TransportError;

/// The way out of one sandbox.
pub(crate) struct Hooks(Option<(Arc<Access>, Arc<dyn Sender>)>);

impl Hooks {
    pub(crate) fn new(access: Access, sender: Arc<dyn Sender>) -> Self {
        Self(Some((Arc::new(access), sender)))
    }

    /// No way out.
    pub(crate) const fn closed() -> Self {
        Self(None)
    }
}

type Sending = Box<dyn Future<Output = Result<(http::Response<WasiBody>, Ended), Error>> + Send>;
type Ended = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Hooks {
    /// The guest sets neither a key nor cookies; they are the host's.
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(|name: &HeaderName| {
            DEFAULT_FORBIDDEN_HEADERS.contains(name) || *name == AUTHORIZATION || *name == COOKIE
        })
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _response_processed: Ended,
    ) -> Sending {
        let allowed = self.0.clone().filter(|(access, _)| access.allows(request.uri()));
        Box::new(async move {
            let (mut parts, body) = request.into_parts();
            let Some((access, sender)) = allowed else {
                warn!(uri = %parts.uri, "denied: the guest may not go there");
                return Err(Error::HttpRequestDenied);
            };
            access.authorize(&mut parts.headers);
            // A document is small and already in memory; whole, it can be sent with its length.
            let body = Limited::new(body, MOST_BODY_BYTES).collect().await.map_err(body_error)?.to_bytes();
            let answer = sender.send(http::Request::from_parts(parts, body), timeouts(options)).await;
            let answer = access.redacted(answer.map_err(wasi_error)?);
            let ended: Ended = Box::new(async { Ok(()) });
            Ok((answer.map(|body| body.map_err(wasi_error).boxed_unsync()), ended))
        })
    }
}

fn body_error(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    error.downcast::<Error>().map_or(Error::HttpRequestBodySize(Some(MOST_BODY_BYTES as u64)), |error| *error)
}

/// The code of the same name.
fn wasi_error(error: TransportError) -> Error {
    match error {
        TransportError::DnsError => Error::DnsError { rcode: None, info_code: None },
        TransportError::DestinationUnavailable => Error::DestinationUnavailable,
        TransportError::DestinationIpUnroutable => Error::DestinationIpUnroutable,
        TransportError::ConnectionRefused => Error::ConnectionRefused,
        TransportError::ConnectionTerminated => Error::ConnectionTerminated,
        TransportError::ConnectionTimeout => Error::ConnectionTimeout,
        TransportError::ConnectionReadTimeout => Error::ConnectionReadTimeout,
        TransportError::ConnectionLimitReached => Error::ConnectionLimitReached,
        TransportError::TlsProtocolError => Error::TlsProtocolError,
        TransportError::TlsCertificateError => Error::TlsCertificateError,
        TransportError::TlsAlertReceived { number, name } => {
            Error::TlsAlertReceived { alert_id: Some(number), alert_message: Some(name) }
        }
        TransportError::HttpRequestDenied => Error::HttpRequestDenied,
        TransportError::HttpRequestUriInvalid => Error::HttpRequestUriInvalid,
        TransportError::HttpRequestBodySize(most) => Error::HttpRequestBodySize(Some(most)),
        TransportError::HttpResponseIncomplete => Error::HttpResponseIncomplete,
        TransportError::HttpResponseTimeout => Error::HttpResponseTimeout,
        TransportError::HttpResponseBodySize(most) => Error::HttpResponseBodySize(Some(most)),
        TransportError::HttpProtocolError => Error::HttpProtocolError,
        TransportError::InternalError(message) => Error::InternalError(Some(message)),
    }
}

fn timeouts(options: Option<RequestOptions>) -> Timeouts {
    let options = options.unwrap_or_default();
    Timeouts { first_byte: options.first_byte_timeout, between_bytes: options.between_bytes_timeout }
}

/// A document of 64 MiB, with room for what JSON makes of it. A request is kept outside the sandbox, where its memory limit
/// does not count.
const MOST_BODY_BYTES: usize = 128 * 1024 * 1024;
