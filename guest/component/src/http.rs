//! One request over `wasi:http`, from the first byte out to the last byte in, without ever blocking: `advance` goes as
//! far as it can, `pollable` says when it can go further. Dropping it aborts the request.

use becalm_policy::{Reply, TransportError};
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::Pollable;
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use crate::clock;
use crate::exports::becalm::batch::analyzer::Timeouts;
use crate::settings::Target;

/// A request on the wire.
pub(crate) struct Exchange(Stage);

/// Where it is. Fields are dropped in their order: a child before what it was taken from, as WASI demands.
enum Stage {
    Writing(Writing),
    Awaiting { pollable: Pollable, response: FutureIncomingResponse },
    Reading(Reading),
    Over,
}

struct Writing {
    pollable: Pollable,
    stream: OutputStream,
    body: OutgoingBody,
    rest: Vec<u8>,
    is_flushed: bool,
    response: FutureIncomingResponse,
}

struct Reading {
    pollable: Pollable,
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    reply: Reply,
}

/// How a request ended, if it has.
type End = Option<Result<Reply, TransportError>>;

impl Exchange {
    /// Starts a request; not a byte of its body has been written yet, because only `handle` makes room for it.
    pub(crate) fn start(target: &Target, timeouts: &Timeouts, body: Vec<u8>) -> Result<Self, TransportError> {
        let request = request(target, body.len()).map_err(|()| TransportError::ConfigurationError)?;
        let outgoing = request.body().map_err(|()| TransportError::ConfigurationError)?;
        let response =
            outgoing_handler::handle(request, Some(options(timeouts))).map_err(|code| transport_error(&code))?;
        let stream = outgoing.write().map_err(|()| TransportError::ConfigurationError)?;
        let pollable = stream.subscribe();
        Ok(Self(Stage::Writing(Writing { pollable, stream, body: outgoing, rest: body, is_flushed: false, response })))
    }

    /// Ready when `advance` can go further.
    pub(crate) const fn pollable(&self) -> Option<&Pollable> {
        match &self.0 {
            Stage::Writing(Writing { pollable, .. })
            | Stage::Awaiting { pollable, .. }
            | Stage::Reading(Reading { pollable, .. }) => Some(pollable),
            Stage::Over => None,
        }
    }

    /// Goes as far as it can.
    pub(crate) fn advance(&mut self) -> End {
        loop {
            let stage = core::mem::replace(&mut self.0, Stage::Over);
            let (next, is_stuck) = match stage {
                Stage::Writing(writing) => writing.advance(),
                Stage::Awaiting { pollable, response } => match answer(pollable, response) {
                    Ok(next) => next,
                    Err(error) => return Some(Err(error)),
                },
                Stage::Reading(reading) => match reading.advance() {
                    Ok(next) => next,
                    Err(end) => return Some(end),
                },
                Stage::Over => return None,
            };
            self.0 = next;
            if is_stuck {
                return None;
            }
        }
    }
}

/// The stage after a step, and whether it has to wait there.
type Step = (Stage, bool);

impl Writing {
    fn advance(mut self) -> Step {
        loop {
            match self.stream.check_write() {
                Ok(0) => return (Stage::Writing(self), true),
                Ok(_) if self.is_flushed => return (self.finish(), false),
                Ok(room) => {
                    if self.write(room).is_err() {
                        return (self.finish(), false);
                    }
                }
                // The server may have answered before it had read all: the answer says more than this error.
                Err(_) => return (self.finish(), false),
            }
        }
    }

    /// Writes what there is room for; with nothing left to write, flushes.
    fn write(&mut self, room: u64) -> Result<(), StreamError> {
        if self.rest.is_empty() {
            self.is_flushed = true;
            return self.stream.flush();
        }
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(self.rest.len());
        self.stream.write(&self.rest[..room])?;
        self.rest.drain(..room);
        Ok(())
    }

    fn finish(self) -> Stage {
        let Self { pollable, stream, body, response, .. } = self;
        drop(pollable);
        drop(stream);
        // An error here is told by the response too.
        let _ = OutgoingBody::finish(body, None);
        Stage::Awaiting { pollable: response.subscribe(), response }
    }
}

/// Looks for the head of the answer.
fn answer(pollable: Pollable, response: FutureIncomingResponse) -> Result<Step, TransportError> {
    let Some(got) = response.get() else { return Ok((Stage::Awaiting { pollable, response }, true)) };
    // Before anything can return: a child has to go before what it was taken from.
    drop(pollable);
    drop(response);
    let incoming = got.map_err(|()| TransportError::InternalError)?.map_err(|code| transport_error(&code))?;
    let headers = incoming.headers().entries();
    let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
    let headers = headers.into_iter().map(|(name, value)| (name, text(value))).collect();
    let reply = Reply { status: incoming.status(), headers, body: vec![] };
    let body = incoming.consume().map_err(|()| TransportError::InternalError)?;
    let stream = body.stream().map_err(|()| TransportError::InternalError)?;
    let pollable = stream.subscribe();
    Ok((Stage::Reading(Reading { pollable, stream, _body: body, _response: incoming, reply }), false))
}

impl Reading {
    fn advance(mut self) -> Result<Step, Result<Reply, TransportError>> {
        loop {
            match self.stream.read(PIECE) {
                Ok(piece) if piece.is_empty() => return Ok((Stage::Reading(self), true)),
                Ok(piece) => self.reply.body.extend(piece),
                Err(StreamError::Closed) => return Err(Ok(self.reply)),
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = http_error_code(&error);
                    return Err(Err(code.map_or(TransportError::ConnectionTerminated, |code| transport_error(&code))));
                }
            }
            if self.reply.body.len() > LARGEST_BODY {
                return Err(Err(TransportError::HttpResponseBodySize));
            }
        }
    }
}

/// With `content-length`, because without it the request would go out chunked.
fn request(target: &Target, length: usize) -> Result<OutgoingRequest, ()> {
    let fields = Fields::new();
    let length = length.to_string();
    let own = [("content-type", "application/json"), ("content-length", length.as_str())];
    let set = target.headers.iter().map(|header| (header.name.as_str(), header.value.as_str()));
    for (name, value) in own.into_iter().chain(set) {
        fields.append(name, value.as_bytes()).map_err(|_| ())?;
    }
    let request = OutgoingRequest::new(fields);
    request.set_method(&Method::Post)?;
    request.set_scheme(Some(if target.is_tls { &Scheme::Https } else { &Scheme::Http }))?;
    request.set_authority(Some(&target.authority))?;
    request.set_path_with_query(Some(&target.path))?;
    Ok(request)
}

/// A host may not support them all; the whole request is bounded by the policy in any case.
fn options(timeouts: &Timeouts) -> RequestOptions {
    let options = RequestOptions::new();
    let nanoseconds = |ms: u64| Some(ms.saturating_mul(clock::NANOSECONDS));
    let _ = options.set_connect_timeout(nanoseconds(timeouts.connect));
    let _ = options.set_first_byte_timeout(nanoseconds(timeouts.first_byte));
    let _ = options.set_between_bytes_timeout(nanoseconds(timeouts.between_bytes));
    options
}

/// The same name on the other side; what a code carries besides is not decided on.
fn transport_error(code: &ErrorCode) -> TransportError {
    match code {
        ErrorCode::DnsTimeout => TransportError::DnsTimeout,
        ErrorCode::DnsError(_) => TransportError::DnsError,
        ErrorCode::DestinationNotFound => TransportError::DestinationNotFound,
        ErrorCode::DestinationUnavailable => TransportError::DestinationUnavailable,
        ErrorCode::DestinationIpProhibited => TransportError::DestinationIpProhibited,
        ErrorCode::DestinationIpUnroutable => TransportError::DestinationIpUnroutable,
        ErrorCode::ConnectionRefused => TransportError::ConnectionRefused,
        ErrorCode::ConnectionTerminated => TransportError::ConnectionTerminated,
        ErrorCode::ConnectionTimeout => TransportError::ConnectionTimeout,
        ErrorCode::ConnectionReadTimeout => TransportError::ConnectionReadTimeout,
        ErrorCode::ConnectionWriteTimeout => TransportError::ConnectionWriteTimeout,
        ErrorCode::ConnectionLimitReached => TransportError::ConnectionLimitReached,
        ErrorCode::TlsProtocolError => TransportError::TlsProtocolError,
        ErrorCode::TlsCertificateError => TransportError::TlsCertificateError,
        ErrorCode::TlsAlertReceived(_) => TransportError::TlsAlertReceived,
        ErrorCode::HttpRequestDenied => TransportError::HttpRequestDenied,
        ErrorCode::HttpRequestLengthRequired => TransportError::HttpRequestLengthRequired,
        ErrorCode::HttpRequestBodySize(_) => TransportError::HttpRequestBodySize,
        ErrorCode::HttpRequestMethodInvalid => TransportError::HttpRequestMethodInvalid,
        ErrorCode::HttpRequestUriInvalid => TransportError::HttpRequestUriInvalid,
        ErrorCode::HttpRequestUriTooLong => TransportError::HttpRequestUriTooLong,
        ErrorCode::HttpRequestHeaderSectionSize(_) => TransportError::HttpRequestHeaderSectionSize,
        ErrorCode::HttpRequestHeaderSize(_) => TransportError::HttpRequestHeaderSize,
        ErrorCode::HttpRequestTrailerSectionSize(_) => TransportError::HttpRequestTrailerSectionSize,
        ErrorCode::HttpRequestTrailerSize(_) => TransportError::HttpRequestTrailerSize,
        ErrorCode::HttpResponseIncomplete => TransportError::HttpResponseIncomplete,
        ErrorCode::HttpResponseHeaderSectionSize(_) => TransportError::HttpResponseHeaderSectionSize,
        ErrorCode::HttpResponseHeaderSize(_) => TransportError::HttpResponseHeaderSize,
        ErrorCode::HttpResponseBodySize(_) => TransportError::HttpResponseBodySize,
        ErrorCode::HttpResponseTrailerSectionSize(_) => TransportError::HttpResponseTrailerSectionSize,
        ErrorCode::HttpResponseTrailerSize(_) => TransportError::HttpResponseTrailerSize,
        ErrorCode::HttpResponseTransferCoding(_) => TransportError::HttpResponseTransferCoding,
        ErrorCode::HttpResponseContentCoding(_) => TransportError::HttpResponseContentCoding,
        ErrorCode::HttpResponseTimeout => TransportError::HttpResponseTimeout,
        ErrorCode::HttpUpgradeFailed => TransportError::HttpUpgradeFailed,
        ErrorCode::HttpProtocolError => TransportError::HttpProtocolError,
        ErrorCode::LoopDetected => TransportError::LoopDetected,
        ErrorCode::ConfigurationError => TransportError::ConfigurationError,
        ErrorCode::InternalError(_) => TransportError::InternalError,
    }
}

const PIECE: u64 = 64 * 1024;
/// No completion is larger; without an end the component's memory would be the end.
const LARGEST_BODY: usize = 64 * 1024 * 1024;
