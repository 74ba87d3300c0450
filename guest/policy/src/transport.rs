//! Tries that ended without an HTTP answer. The names are those of `wasi:http`'s `error-code`, which stays typed up to
//! the verdict; `WholeRequestTimeout` is our own: the try took longer than `whole-request` and was aborted.

/// The one list: name, whether the request may have been sent, whether another try can end otherwise, whom it concerns, and
/// what is said of it.
macro_rules! transport_errors {
    ($($name:ident, $stage:ident, $chance:ident, $concerned:ident, $words:literal;)*) => {
        /// How a try ended without an answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are those of wasi:http, where they are documented")]
        pub enum TransportError {
            $($name,)*
        }

        impl TransportError {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// In words, for the message of a failure.
            pub const fn describe(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                }
            }

            /// Whether the request may have reached the endpoint, and may have been charged.
            pub const fn comes_after_sending(self) -> bool {
                match self {
                    $(Self::$name => matches!(Stage::$stage, Stage::Sent),)*
                }
            }

            /// Whether another try can end otherwise.
            pub const fn is_worth_retrying(self) -> bool {
                match self {
                    $(Self::$name => matches!(Chance::$chance, Chance::Again),)*
                }
            }

            /// Whether it says that the endpoint as a whole cannot be reached, whatever the document.
            pub const fn concerns_endpoint(self) -> bool {
                match self {
                    $(Self::$name => matches!(Concerned::$concerned, Concerned::Endpoint),)*
                }
            }
        }
    };
}

/// How far the request came.
enum Stage {
    Unsent,
    Sent,
}

/// Whether another try can end otherwise.
enum Chance {
    Again,
    Final,
}

/// Whom it concerns.
enum Concerned {
    Document,
    Endpoint,
}

transport_errors! {
    DnsTimeout, Unsent, Again, Endpoint, "the name lookup timed out";
    DnsError, Unsent, Again, Endpoint, "the host name cannot be resolved; check the base URL";
    DestinationNotFound, Unsent, Again, Endpoint, "the host was not found; check the base URL";
    DestinationUnavailable, Unsent, Again, Endpoint, "the host is unavailable";
    DestinationIpProhibited, Unsent, Final, Endpoint, "the host's address is not allowed here";
    DestinationIpUnroutable, Unsent, Again, Endpoint, "no route to the host; check the network";
    ConnectionRefused, Unsent, Again, Endpoint, "the connection was refused; check the base URL and that the server is running";
    ConnectionTerminated, Sent, Again, Document, "the connection was closed before the answer was complete";
    ConnectionTimeout, Unsent, Again, Endpoint, "connecting took too long";
    ConnectionReadTimeout, Sent, Again, Document, "the answer stopped coming";
    ConnectionWriteTimeout, Sent, Again, Document, "sending stopped going on";
    ConnectionLimitReached, Unsent, Again, Document, "there are no more connections or streams now; fewer go at a time";
    TlsProtocolError, Unsent, Again, Endpoint, "the TLS handshake failed; is this a TLS port?";
    TlsCertificateError, Unsent, Final, Endpoint, "the server's certificate is not trusted; check the host name and the roots";
    TlsAlertReceived, Unsent, Again, Endpoint, "the server ended the TLS handshake with an alert";
    HttpRequestDenied, Unsent, Final, Endpoint, "the host does not allow requests to this origin";
    HttpRequestLengthRequired, Unsent, Final, Document, "the request needs a content length";
    HttpRequestBodySize, Unsent, Final, Document, "the request's body is not as long as it says";
    HttpRequestMethodInvalid, Unsent, Final, Document, "the request's method is invalid";
    HttpRequestUriInvalid, Unsent, Final, Endpoint, "the request's URL is invalid; check the base URL";
    HttpRequestUriTooLong, Unsent, Final, Document, "the request's URL is too long";
    HttpRequestHeaderSectionSize, Unsent, Final, Document, "the request's headers are too large";
    HttpRequestHeaderSize, Unsent, Final, Document, "a header of the request is too large";
    HttpRequestTrailerSectionSize, Unsent, Final, Document, "the request's trailers are too large";
    HttpRequestTrailerSize, Unsent, Final, Document, "a trailer of the request is too large";
    HttpResponseIncomplete, Sent, Again, Document, "the answer ended early";
    HttpResponseHeaderSectionSize, Sent, Again, Document, "the answer's headers are too large";
    HttpResponseHeaderSize, Sent, Again, Document, "a header of the answer is too large";
    HttpResponseBodySize, Sent, Final, Document, "the answer is larger than allowed";
    HttpResponseTrailerSectionSize, Sent, Again, Document, "the answer's trailers are too large";
    HttpResponseTrailerSize, Sent, Again, Document, "a trailer of the answer is too large";
    HttpResponseTransferCoding, Sent, Again, Document, "the answer's transfer coding is unknown";
    HttpResponseContentCoding, Sent, Again, Document, "the answer's content coding is unknown";
    HttpResponseTimeout, Sent, Again, Document, "the answer took too long";
    HttpUpgradeFailed, Sent, Again, Document, "the protocol upgrade failed";
    HttpProtocolError, Sent, Again, Endpoint, "the answer is no valid HTTP; is this an HTTP port?";
    LoopDetected, Sent, Again, Document, "a loop of proxies was detected";
    ConfigurationError, Unsent, Final, Endpoint, "the host's HTTP client is misconfigured";
    InternalError, Sent, Again, Document, "the host's HTTP client failed";
    WholeRequestTimeout, Sent, Again, Document, "the request took longer than timeouts.whole-request";
}

impl TransportError {
    /// Whether the endpoint took too long, as one does that has too much to do.
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::ConnectionReadTimeout | Self::HttpResponseTimeout | Self::WholeRequestTimeout)
    }
}
