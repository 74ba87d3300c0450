//! What the client's errors mean: the most telling of all their causes.

use std::error::Error as _;
use std::io;

use super::transport_error::TransportError;

/// How a proxy refuses to let a connection through. (The client does not say by which status, but for one.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tunnel {
    WantsCredentials,
    Refused,
}

/// Whether it was a proxy that refused.
pub(super) fn refused_tunnel(error: &reqwest::Error) -> Option<Tunnel> {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let tunnel = causes.map(ToString::to_string).find(|cause| cause.contains("tunnel error: "))?;
    let wants_credentials = tunnel.contains("proxy authorization required");
    Some(if wants_credentials { Tunnel::WantsCredentials } else { Tunnel::Refused })
}

/// The server closed the connection before it said anything. (A stream that it reset it has seen.)
pub(super) fn is_hang_up(error: &reqwest::Error) -> bool {
    let is_terminated = matches!(transport_error(error), TransportError::ConnectionTerminated);
    is_terminated && !error.is_connect() && stream_of(error).is_none()
}

/// What HTTP/2 says of it.
fn stream_of(error: &reqwest::Error) -> Option<&h2::Error> {
    let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.find_map(|cause| cause.downcast_ref::<h2::Error>()).filter(|error| !error.is_io())
}

/// The most telling of all causes.
pub(super) fn transport_error(error: &reqwest::Error) -> TransportError {
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    if let Some(tls) = causes().find_map(|cause| wrapped(cause.downcast_ref()?)) {
        return tls_error(tls);
    }
    if causes().any(|cause| cause.to_string().starts_with("dns error")) {
        return TransportError::DnsError;
    }
    if let Some(stream) = stream_of(error) {
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
