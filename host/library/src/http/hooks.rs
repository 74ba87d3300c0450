//! Where wasmtime hands the guest's requests over. `WasiHttpHooks` differs between wasmtime versions; all use of it is in
//! this file.

use std::future::Future;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, COOKIE, HeaderName};
use http_body_util::{BodyExt, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::warn;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks,
};

use super::access::Access;
use super::sender::{Body, Sender, Timeouts};
use super::transport_error::TransportError;

/// The way out of one sandbox.
pub(crate) struct Hooks(Option<Way>);

#[derive(Clone)]
struct Way {
    access: Arc<Access>,
    sender: Arc<dyn Sender>,
    /// For requests on the wire.
    places: Arc<Semaphore>,
    /// For what requests have outside the sandbox, where its memory limit does not count, in KiB.
    memory: Arc<Semaphore>,
}

impl Hooks {
    pub(crate) fn new(access: Access, sender: Arc<dyn Sender>, max_in_flight: u32) -> Self {
        let places = Arc::new(Semaphore::new(2 * max_in_flight as usize + SPARE));
        let memory = Arc::new(Semaphore::new(MOST_KIB));
        Self(Some(Way { access: Arc::new(access), sender, places, memory }))
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
        let is_of_contract = request.method() == http::Method::POST && request.uri().path().ends_with(PATH);
        let allowed = self.0.clone().filter(|way| is_of_contract && way.access.allows(request.uri()));
        Box::new(async move {
            let (mut parts, body) = request.into_parts();
            let Some(Way { access, sender, places, memory }) = allowed else {
                warn!(uri = %parts.uri, "denied: the guest may not go there");
                return Err(Error::HttpRequestDenied);
            };
            // The component keeps to it by itself; whatever runs here has to.
            let place = places.try_acquire_owned().map_err(|_| Error::ConnectionLimitReached)?;
            access.authorize(&mut parts.headers);
            // A document is small and already in memory; whole, it can be sent with its length.
            let (body, memory) = whole(body, &memory).await?;
            let answer = sender.send(http::Request::from_parts(parts, body), timeouts(options)).await;
            let answer = access.redacted(answer.map_err(wasi_error)?);
            let ended: Ended = Box::new(async { Ok(()) });
            drop(memory);
            Ok((answer.map(|body| held(body, place)), ended))
        })
    }
}

/// A document is small and already in memory; whole, it can be sent with its length. It waits where others have taken so much
/// that there is no room for it.
async fn whole(body: WasiBody, memory: &Arc<Semaphore>) -> Result<(Bytes, OwnedSemaphorePermit), Error> {
    let mut body = Limited::new(body, MOST_BODY_BYTES);
    let mut taken = Arc::clone(memory).acquire_many_owned(1).await.map_err(|_| Error::HttpRequestDenied)?;
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(body_error)?.into_data() else { continue };
        bytes.extend_from_slice(&piece);
        let more = (bytes.len() / 1024 + 1).saturating_sub(taken.num_permits());
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            // One that holds some and waits for more could wait for another that does: it is turned away, and comes again.
            let more = Arc::clone(memory).try_acquire_many_owned(more).map_err(|_| Error::ConnectionLimitReached)?;
            taken.merge(more);
        }
    }
    Ok((bytes.freeze(), taken))
}

/// The body of an answer, which has its place until it ends.
fn held(body: Body, place: OwnedSemaphorePermit) -> WasiBody {
    body.map_err(move |error| {
        let _place = &place;
        wasi_error(error)
    })
    .boxed_unsync()
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
/// Half a GiB for all requests that go out at one time.
const MOST_KIB: usize = 512 * 1024;
/// An answer that was read to its end may be let go of a little later than the next request goes.
const SPARE: usize = 16;
/// What the contract's requests end with: the key goes nowhere else.
const PATH: &str = "/chat/completions";
