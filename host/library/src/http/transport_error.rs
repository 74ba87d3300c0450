//! How a request ends without an answer.

/// Why no answer came, or only a part of one. The component sees the `error-code` of that name of `wasi:http`, and its policy
/// decides what follows: most of them are tried again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The host name cannot be resolved.
    #[error("the host name cannot be resolved")]
    DnsError,
    /// The host is not to be had.
    #[error("the host is unavailable")]
    DestinationUnavailable,
    /// There is no route to it.
    #[error("no route to the host")]
    DestinationIpUnroutable,
    /// Nobody listens there.
    #[error("the connection was refused")]
    ConnectionRefused,
    /// It ended before the answer was complete.
    #[error("the connection was closed")]
    ConnectionTerminated,
    /// Connecting took too long.
    #[error("connecting took too long")]
    ConnectionTimeout,
    /// The answer, or its next piece, took too long.
    #[error("the answer stopped coming")]
    ConnectionReadTimeout,
    /// This process has no room for another connection.
    #[error("too many connections")]
    ConnectionLimitReached,
    /// It is no TLS that is spoken there.
    #[error("the TLS handshake failed")]
    TlsProtocolError,
    /// Its certificate is not trusted.
    #[error("the certificate is not trusted")]
    TlsCertificateError,
    /// The server ended the handshake, with this number of an alert (RFC 8446 §6) and its name.
    #[error("the server ended the TLS handshake: {name}")]
    TlsAlertReceived {
        /// Of the alert.
        number: u8,
        /// Of the alert.
        name: String,
    },
    /// The guest may not go there.
    #[error("the request is not allowed")]
    HttpRequestDenied,
    /// The URL is none.
    #[error("the request's URL is invalid")]
    HttpRequestUriInvalid,
    /// The request is larger than so many bytes.
    #[error("the request is larger than {0} bytes")]
    HttpRequestBodySize(u64),
    /// The answer ended early.
    #[error("the answer ended early")]
    HttpResponseIncomplete,
    /// The answer took too long.
    #[error("the answer took too long")]
    HttpResponseTimeout,
    /// The answer is larger than so many bytes.
    #[error("the answer is larger than {0} bytes")]
    HttpResponseBodySize(u64),
    /// What came is no HTTP.
    #[error("the answer is no valid HTTP")]
    HttpProtocolError,
    /// Anything else, in words.
    #[error("the client failed: {0}")]
    InternalError(String),
}
