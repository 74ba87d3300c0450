//! The client: one pool of connections, HTTP/2 where the server offers it, the system's roots, no redirects.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use reqwest::Client;
use reqwest::redirect::Policy;
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt;
use tracing::debug;

use super::{Answered, Body, Send, Timeouts, TransportError};
use crate::contract;
use crate::error::Error;

/// Carries requests over the network.
#[derive(Clone, Debug)]
pub struct Pool {
    client: Client,
}

impl Pool {
    /// A pool that gives up connecting after `timeouts.connect`.
    ///
    /// # Errors
    ///
    /// If the system's certificates cannot be loaded.
    pub fn new(timeouts: &contract::Timeouts) -> Result<Arc<Self>, Error> {
        // It fails only if a provider is installed already, which does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(Duration::from_millis(timeouts.connect))
            .referer(false)
            .tcp_nodelay(true)
            .build()
            .map_err(Error::Client)?;
        Ok(Arc::new(Self { client }))
    }
}

impl Send for Pool {
    fn send(&self, request: http::Request<Bytes>, timeouts: Timeouts) -> Answered {
        let client = self.client.clone();
        Box::pin(async move {
            let (bytes, started) = (request.body().len(), Instant::now());
            let request = request.try_into().map_err(|_| TransportError::HttpRequestUriInvalid)?;
            let answer = client.execute(request);
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

/// The body, with an end to waiting for its next piece.
fn bounded(body: reqwest::Body, between_bytes: Option<Duration>) -> Body {
    let body = body.map_err(|error| transport_error(&error));
    match between_bytes {
        Some(between_bytes) => {
            let pieces = BodyStream::new(body).timeout(between_bytes);
            StreamBody::new(pieces.map(|piece| piece.unwrap_or(Err(TransportError::ConnectionReadTimeout))))
                .boxed_unsync()
        }
        None => body.boxed_unsync(),
    }
}

/// The most telling of all causes.
fn transport_error(error: &reqwest::Error) -> TransportError {
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    if let Some(tls) = causes().find_map(|cause| cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref()) {
        return tls_error(tls);
    }
    if causes().any(|cause| cause.to_string().starts_with("dns error")) {
        return TransportError::DnsError { rcode: None, info_code: None };
    }
    if let Some(io) = causes().find_map(|cause| cause.downcast_ref::<io::Error>()) {
        return io_error(io.kind(), error.is_connect());
    }
    let is_incomplete =
        causes().filter_map(|cause| cause.downcast_ref::<hyper::Error>()).any(hyper::Error::is_incomplete_message);
    match error {
        _ if error.is_timeout() && error.is_connect() => TransportError::ConnectionTimeout,
        _ if error.is_timeout() => TransportError::ConnectionReadTimeout,
        _ if is_incomplete => TransportError::ConnectionTerminated,
        _ if error.is_body() || error.is_decode() => TransportError::HttpResponseIncomplete,
        _ if error.is_connect() => TransportError::DestinationUnavailable,
        _ => TransportError::HttpProtocolError,
    }
}

fn tls_error(error: &rustls::Error) -> TransportError {
    match error {
        rustls::Error::InvalidCertificate(_) => TransportError::TlsCertificateError,
        rustls::Error::AlertReceived(alert) => TransportError::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: Some(format!("{alert:?}")),
        },
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
