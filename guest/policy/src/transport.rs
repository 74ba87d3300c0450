//! Tries that ended without an HTTP answer. The names are those of `wasi:http`'s `error-code`, which stays typed up to
//! the verdict.

/// How a try ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of wasi:http, where they are documented")]
pub enum TransportError {
    DnsTimeout,
    DnsError,
    DestinationNotFound,
    DestinationUnavailable,
    DestinationIpProhibited,
    DestinationIpUnroutable,
    ConnectionRefused,
    ConnectionTerminated,
    ConnectionTimeout,
    ConnectionReadTimeout,
    ConnectionWriteTimeout,
    ConnectionLimitReached,
    TlsProtocolError,
    TlsCertificateError,
    TlsAlertReceived,
    HttpRequestDenied,
    HttpRequestLengthRequired,
    HttpRequestBodySize,
    HttpRequestMethodInvalid,
    HttpRequestUriInvalid,
    HttpRequestUriTooLong,
    HttpRequestHeaderSectionSize,
    HttpRequestHeaderSize,
    HttpRequestTrailerSectionSize,
    HttpRequestTrailerSize,
    HttpResponseIncomplete,
    HttpResponseHeaderSectionSize,
    HttpResponseHeaderSize,
    HttpResponseBodySize,
    HttpResponseTrailerSectionSize,
    HttpResponseTrailerSize,
    HttpResponseTransferCoding,
    HttpResponseContentCoding,
    HttpResponseTimeout,
    HttpUpgradeFailed,
    HttpProtocolError,
    LoopDetected,
    ConfigurationError,
    InternalError,
    /// Not of `wasi:http`: the try took longer than `whole-request` and was aborted.
    WholeRequestTimeout,
}

impl TransportError {
    /// Every one of them.
    pub const ALL: [Self; 40] = [
        Self::DnsTimeout,
        Self::DnsError,
        Self::DestinationNotFound,
        Self::DestinationUnavailable,
        Self::DestinationIpProhibited,
        Self::DestinationIpUnroutable,
        Self::ConnectionRefused,
        Self::ConnectionTerminated,
        Self::ConnectionTimeout,
        Self::ConnectionReadTimeout,
        Self::ConnectionWriteTimeout,
        Self::ConnectionLimitReached,
        Self::TlsProtocolError,
        Self::TlsCertificateError,
        Self::TlsAlertReceived,
        Self::HttpRequestDenied,
        Self::HttpRequestLengthRequired,
        Self::HttpRequestBodySize,
        Self::HttpRequestMethodInvalid,
        Self::HttpRequestUriInvalid,
        Self::HttpRequestUriTooLong,
        Self::HttpRequestHeaderSectionSize,
        Self::HttpRequestHeaderSize,
        Self::HttpRequestTrailerSectionSize,
        Self::HttpRequestTrailerSize,
        Self::HttpResponseIncomplete,
        Self::HttpResponseHeaderSectionSize,
        Self::HttpResponseHeaderSize,
        Self::HttpResponseBodySize,
        Self::HttpResponseTrailerSectionSize,
        Self::HttpResponseTrailerSize,
        Self::HttpResponseTransferCoding,
        Self::HttpResponseContentCoding,
        Self::HttpResponseTimeout,
        Self::HttpUpgradeFailed,
        Self::HttpProtocolError,
        Self::LoopDetected,
        Self::ConfigurationError,
        Self::InternalError,
        Self::WholeRequestTimeout,
    ];

    /// Whether the endpoint took too long, as one does that has too much to do.
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::ConnectionReadTimeout | Self::HttpResponseTimeout | Self::WholeRequestTimeout)
    }

    /// In words, for the message of a failure.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::DnsTimeout => "the name lookup timed out",
            Self::DnsError => "the host name cannot be resolved; check the base URL",
            Self::DestinationNotFound => "the host was not found; check the base URL",
            Self::DestinationUnavailable => "the host is unavailable",
            Self::DestinationIpProhibited => "the host's address is not allowed here",
            Self::DestinationIpUnroutable => "no route to the host; check the network",
            Self::ConnectionRefused => "the connection was refused; check the base URL and that the server is running",
            Self::ConnectionTerminated => "the connection was closed before the answer was complete",
            Self::ConnectionTimeout => "connecting took too long",
            Self::ConnectionReadTimeout => "the answer stopped coming",
            Self::ConnectionWriteTimeout => "sending stopped going on",
            Self::ConnectionLimitReached => "too many connections",
            Self::TlsProtocolError => "the TLS handshake failed; is this a TLS port?",
            Self::TlsCertificateError => "the server's certificate is not trusted; check the host name and the roots",
            Self::TlsAlertReceived => "the server ended the TLS handshake with an alert",
            Self::HttpRequestDenied => "the host does not allow requests to this origin",
            Self::HttpRequestLengthRequired => "the request needs a content length",
            Self::HttpRequestBodySize => "the request's body is not as long as it says",
            Self::HttpRequestMethodInvalid => "the request's method is invalid",
            Self::HttpRequestUriInvalid => "the request's URL is invalid; check the base URL",
            Self::HttpRequestUriTooLong => "the request's URL is too long",
            Self::HttpRequestHeaderSectionSize => "the request's headers are too large",
            Self::HttpRequestHeaderSize => "a header of the request is too large",
            Self::HttpRequestTrailerSectionSize => "the request's trailers are too large",
            Self::HttpRequestTrailerSize => "a trailer of the request is too large",
            Self::HttpResponseIncomplete => "the answer ended early",
            Self::HttpResponseHeaderSectionSize => "the answer's headers are too large",
            Self::HttpResponseHeaderSize => "a header of the answer is too large",
            Self::HttpResponseBodySize => "the answer is larger than allowed",
            Self::HttpResponseTrailerSectionSize => "the answer's trailers are too large",
            Self::HttpResponseTrailerSize => "a trailer of the answer is too large",
            Self::HttpResponseTransferCoding => "the answer's transfer coding is unknown",
            Self::HttpResponseContentCoding => "the answer's content coding is unknown",
            Self::HttpResponseTimeout => "the answer took too long",
            Self::HttpUpgradeFailed => "the protocol upgrade failed",
            Self::HttpProtocolError => "the answer is no valid HTTP; is this an HTTP port?",
            Self::LoopDetected => "a loop of proxies was detected",
            Self::ConfigurationError => "the host's HTTP client is misconfigured",
            Self::InternalError => "the host's HTTP client failed",
            Self::WholeRequestTimeout => "the request took longer than timeouts.whole-request",
        }
    }

    /// Whether another try can end otherwise.
    pub const fn is_worth_retrying(self) -> bool {
        !matches!(
            self,
            Self::DestinationIpProhibited
                | Self::TlsCertificateError
                | Self::HttpRequestDenied
                | Self::HttpRequestLengthRequired
                | Self::HttpRequestBodySize
                | Self::HttpRequestMethodInvalid
                | Self::HttpRequestUriInvalid
                | Self::HttpRequestUriTooLong
                | Self::HttpRequestHeaderSectionSize
                | Self::HttpRequestHeaderSize
                | Self::HttpRequestTrailerSectionSize
                | Self::HttpRequestTrailerSize
                | Self::HttpResponseBodySize
                | Self::ConfigurationError
        )
    }

    /// Whether it says that the endpoint as a whole cannot be reached, whatever the document.
    pub const fn concerns_endpoint(self) -> bool {
        matches!(
            self,
            Self::DnsTimeout
                | Self::DnsError
                | Self::DestinationNotFound
                | Self::DestinationUnavailable
                | Self::DestinationIpProhibited
                | Self::DestinationIpUnroutable
                | Self::ConnectionRefused
                | Self::ConnectionTimeout
                | Self::TlsProtocolError
                | Self::TlsCertificateError
                | Self::TlsAlertReceived
                | Self::HttpRequestDenied
                | Self::HttpRequestUriInvalid
                | Self::HttpProtocolError
                | Self::ConfigurationError
        )
    }
}
