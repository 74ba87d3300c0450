//! The client: one pool of connections, HTTP/2 where the server offers it, the system's roots, no redirects.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, BodyStream, Limited, StreamBody};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client};
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt;
use tracing::debug;

use super::sender::{Answered, Body, Sender, Timeouts};
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
    /// A pool that gives up connecting after `timeouts.connect`. It takes proxies from `HTTP_PROXY`, `HTTPS_PROXY` and
    /// `NO_PROXY`, follows no redirects and asks for no compression.
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
            let answer = http::Response::from(answer.map_err(|error| transport_error(&error))?);
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
    if let Some(io) = causes().find_map(|cause| cause.downcast_ref::<io::Error>()) {
        return io_error(io.kind(), error.is_connect());
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

fn io_error(kind: io::ErrorKind, is_connecting: bool) -> TransportError {
    match kind {
        io::ErrorKind::ConnectionRefused => TransportError::ConnectionRefused,
        io::ErrorKind::TimedOut if is_connecting => TransportError::ConnectionTimeout,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => TransportError::DestinationIpUnroutable,
        _ if is_connecting => TransportError::DestinationUnavailable,
        io::ErrorKind::TimedOut => TransportError::ConnectionReadTimeout,
        _ => TransportError::ConnectionTerminated,
    }
}

/// Servers close idle connections after 5 s (uvicorn, Node) to 75 s (nginx); one that is closed while a request is under way
/// to it costs that request.
const MOST_IDLE: Duration = Duration::from_secs(4);
/// A connection that is stale says so at once.
const STALE_WITHIN: Duration = Duration::from_secs(1);
/// No completion is as large; it has to fit into the sandbox.
const MOST_BODY_BYTES: usize = 64 * 1024 * 1024;
