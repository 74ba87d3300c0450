//! The client: one pool of connections, HTTP/2 where the server offers it, the system's roots, no redirects.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use http_body_util::{BodyExt, BodyStream, Limited, StreamBody};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client};
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt;
use tracing::debug;

use super::sender::{Answered, Body, Sender, Timeouts, body};
use super::transport_error::TransportError;
use crate::contract;
use crate::error::{ClientError, Error};

/// Carries requests over the network.
#[derive(Clone, Debug)]
pub struct Pool {
    client: Client,
    /// Whether there may be a connection that was used before.
    has_connections: Arc<AtomicBool>,
}

/// How the endpoint is to be reached.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// Certificates in PEM form that are trusted beside the system's. Default: none.
    pub certificates: Option<Vec<u8>>,
    /// Speak HTTP/2 without asking, over plain TCP too. Default: as the server offers it in the TLS handshake, else HTTP/1.1.
    pub http2_only: bool,
}

impl Pool {
    /// A pool that gives up connecting after `timeouts.connect`. It takes proxies from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`
    /// (`http://` or `socks5://`) and `NO_PROXY`, and follows no redirects. It asks for no compression; an answer that is
    /// compressed all the same (gzip, deflate, br, zstd) is unpacked, up to 64 MiB.
    ///
    /// # Errors
    ///
    /// If the certificates, the system's or those of the route, cannot be loaded.
    pub fn new(timeouts: &contract::Timeouts, route: &Route) -> Result<Arc<Self>, Error> {
        // It fails only if a provider is installed already, which does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(Duration::from_millis(timeouts.connect))
            .pool_idle_timeout(MOST_IDLE)
            .user_agent(concat!("becalm/", env!("CARGO_PKG_VERSION")))
            .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]))
            .referer(false)
            .tcp_nodelay(true);
        if let Some(pem) = &route.certificates {
            client = client.tls_certs_merge(Certificate::from_pem_bundle(pem).map_err(client_error)?);
        }
        if route.http2_only {
            client = client.http2_prior_knowledge();
        }
        let client = client.build().map_err(client_error)?;
        Ok(Arc::new(Self { client, has_connections: Arc::default() }))
    }

    /// The head of the answer. A connection that the server closed while it lay idle is no fault of the request: that is
    /// tried once more, on another one.
    async fn execute(&self, request: reqwest::Request) -> reqwest::Result<reqwest::Response> {
        let again = request.try_clone().filter(|_| self.has_connections.load(Ordering::Relaxed));
        let started = Instant::now();
        let answer = match (self.client.execute(request).await, again) {
            (Err(error), Some(again)) if started.elapsed() < STALE_WITHIN && is_hang_up(&error) => {
                debug!(%error, "a connection was stale");
                self.client.execute(again).await
            }
            (answer, _) => answer,
        };
        answer.inspect(|_| self.has_connections.store(true, Ordering::Relaxed))
    }
}

impl Sender for Pool {
    fn send(&self, request: http::Request<Bytes>, timeouts: Timeouts) -> Answered {
        let pool = self.clone();
        Box::pin(async move {
            let (bytes, started) = (request.body().len(), Instant::now());
            let request = request.try_into().map_err(|_| TransportError::HttpRequestUriInvalid)?;
            let answer = pool.execute(request);
            let answer = match timeouts.first_byte {
                Some(first_byte) => {
                    timeout(first_byte, answer).await.map_err(|_| TransportError::ConnectionReadTimeout)?
                }
                None => answer.await,
            };
            let answer = answer.inspect_err(|error| debug!(%error, causes = ?error.source(), "no answer"));
            let answer = match answer {
                Ok(answer) => http::Response::from(answer),
                Err(error) if wants_credentials(&error) => return Ok(of_proxy()),
                Err(error) => return Err(transport_error(&error)),
            };
            let (status, version) = (answer.status().as_u16(), answer.version());
            debug!(status, ?version, bytes_sent = bytes, after_ms = started.elapsed().as_millis(), "answered");
            Ok(answer.map(|body| bounded(body, timeouts.between_bytes)))
        })
    }
}

fn client_error(error: reqwest::Error) -> Error {
    Error::Client(ClientError::new(error))
}

/// The body, with an end to waiting for its next piece, and to its length.
fn bounded(body: reqwest::Body, between_bytes: Option<Duration>) -> Body {
    let body = Limited::new(body, MOST_BODY_BYTES).map_err(|error| match error.downcast::<reqwest::Error>() {
        Ok(error) => transport_error(&error),
        Err(_) => TransportError::HttpResponseBodySize(MOST_BODY_BYTES as u64),
    });
    match between_bytes {
        Some(between_bytes) => {
            let pieces = BodyStream::new(body).timeout(between_bytes);
            StreamBody::new(pieces.map(|piece| piece.unwrap_or(Err(TransportError::ConnectionReadTimeout))))
                .boxed_unsync()
        }
        None => body.boxed_unsync(),
    }
}

/// A proxy let no tunnel through without a name and password.
fn wants_credentials(error: &reqwest::Error) -> bool {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    error.is_connect() && causes.map(ToString::to_string).any(|cause| cause.contains("proxy authorization required"))
}

/// As it said it: the policy knows what that means.
fn of_proxy() -> http::Response<Body> {
    let mut answer = http::Response::new(body(""));
    *answer.status_mut() = http::StatusCode::PROXY_AUTHENTICATION_REQUIRED;
    answer
}

/// The server closed the connection before it said anything.
fn is_hang_up(error: &reqwest::Error) -> bool {
    !error.is_connect() && matches!(transport_error(error), TransportError::ConnectionTerminated)
}

/// The most telling of all causes.
fn transport_error(error: &reqwest::Error) -> TransportError {
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    if let Some(tls) = causes().find_map(|cause| wrapped(cause.downcast_ref()?)) {
        return tls_error(tls);
    }
    if causes().any(|cause| cause.to_string().starts_with("dns error")) {
        return TransportError::DnsError;
    }
    if let Some(stream) = causes().find_map(|cause| cause.downcast_ref::<h2::Error>())
        && !stream.is_io()
    {
        return stream_error(stream);
    }
    if let Some(io) = causes().find_map(|cause| cause.downcast_ref::<io::Error>()) {
        return io_error(io, error.is_connect());
    }
    // A connection that ends is told in these ways, by when it does.
    let has_ended = |error: &hyper::Error| error.is_incomplete_message() || error.is_canceled() || error.is_closed();
    let is_terminated = causes().filter_map(|cause| cause.downcast_ref()).any(has_ended);
    match error {
        _ if error.is_timeout() && error.is_connect() => TransportError::ConnectionTimeout,
        _ if error.is_timeout() => TransportError::ConnectionReadTimeout,
        _ if is_terminated => TransportError::ConnectionTerminated,
        _ if error.is_body() || error.is_decode() => TransportError::HttpResponseIncomplete,
        _ if error.is_connect() => TransportError::DestinationUnavailable,
        _ => TransportError::HttpProtocolError,
    }
}

/// The TLS error in an I/O error, however often it was wrapped: such an error is no source of what it is wrapped in.
fn wrapped(error: &io::Error) -> Option<&rustls::Error> {
    let within = error.get_ref()?;
    within.downcast_ref().or_else(|| wrapped(within.downcast_ref()?))
}

fn tls_error(error: &rustls::Error) -> TransportError {
    match error {
        rustls::Error::InvalidCertificate(_) => TransportError::TlsCertificateError,
        rustls::Error::AlertReceived(alert) => {
            TransportError::TlsAlertReceived { number: u8::from(*alert), name: format!("{alert:?}") }
        }
        _ => TransportError::TlsProtocolError,
    }
}

/// HTTP/2: what the server did not look at goes again; a stream that it reset is that request's matter alone.
fn stream_error(error: &h2::Error) -> TransportError {
    match error.reason() {
        Some(h2::Reason::REFUSED_STREAM | h2::Reason::ENHANCE_YOUR_CALM) => TransportError::ConnectionLimitReached,
        Some(h2::Reason::NO_ERROR) if error.is_go_away() => TransportError::ConnectionLimitReached,
        _ => TransportError::ConnectionTerminated,
    }
}

fn io_error(error: &io::Error, is_connecting: bool) -> TransportError {
    match error.kind() {
        // This process has no file descriptor left: nothing is wrong with the endpoint.
        _ if matches!(error.raw_os_error(), Some(TOO_MANY_OF_PROCESS | TOO_MANY_OF_SYSTEM)) => {
            TransportError::ConnectionLimitReached
        }
        // It was not packed as it said.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput if !is_connecting => {
            TransportError::HttpResponseIncomplete
        }
        io::ErrorKind::ConnectionRefused => TransportError::ConnectionRefused,
        io::ErrorKind::TimedOut if is_connecting => TransportError::ConnectionTimeout,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => TransportError::DestinationIpUnroutable,
        _ if is_connecting => TransportError::DestinationUnavailable,
        io::ErrorKind::TimedOut => TransportError::ConnectionReadTimeout,
        _ => TransportError::ConnectionTerminated,
    }
}

/// `EMFILE` and `ENFILE`, the same numbers on every Unix.
const TOO_MANY_OF_PROCESS: i32 = 24;
const TOO_MANY_OF_SYSTEM: i32 = 23;
/// Servers close idle connections after 5 s (uvicorn, Node) to 75 s (nginx); one that is closed while a request is under way
/// to it costs that request.
const MOST_IDLE: Duration = Duration::from_secs(4);
/// A connection that is stale says so at once.
const STALE_WITHIN: Duration = Duration::from_secs(1);
/// No completion is as large; it has to fit into the sandbox.
const MOST_BODY_BYTES: usize = 64 * 1024 * 1024;
