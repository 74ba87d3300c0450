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

use crate::bindings::exports::becalm::batch::analyzer::Timeouts;
use crate::clock;
use crate::settings::Target;

/// A request on the wire. Fields are dropped in their order, here and below: a child before what it was taken from, as WASI
/// demands.
pub(crate) struct Exchange {
    /// Ready when there is more to do; only while there is nothing to do.
    pollable: Option<Pollable>,
    stage: Stage,
}

/// Where it is.
enum Stage {
    Writing(Writing),
    Awaiting(FutureIncomingResponse),
    Reading(Reading),
    Over,
}

struct Writing {
    stream: OutputStream,
    body: OutgoingBody,
    rest: Vec<u8>,
    is_flushed: bool,
    response: FutureIncomingResponse,
}

struct Reading {
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    reply: Reply,
}

/// What a step leads to.
enum Step {
    Next(Stage),
    /// There is nothing to do before the stage's pollable is ready.
    Stuck(Stage),
    End(Result<Reply, TransportError>),
}

impl Exchange {
    /// Starts a request; not a byte of its body has been written yet, because only `handle` makes room for it.
    pub(crate) fn start(target: &Target, timeouts: &Timeouts, body: Vec<u8>) -> Result<Self, TransportError> {
        let request = request(target, body.len()).map_err(|()| TransportError::ConfigurationError)?;
        let outgoing = request.body().map_err(|()| TransportError::ConfigurationError)?;
        let response =
            outgoing_handler::handle(request, Some(options(timeouts))).map_err(|code| transport_error(&code))?;
        let stream = outgoing.write().map_err(|()| TransportError::ConfigurationError)?;
        let writing = Writing { stream, body: outgoing, rest: body, is_flushed: false, response };
        Ok(Self { pollable: None, stage: Stage::Writing(writing) })
    }

    /// Ready when `advance` can go further.
    pub(crate) const fn pollable(&self) -> Option<&Pollable> {
        self.pollable.as_ref()
    }

    /// Goes as far as it can. Says how the request ended, if it has.
    pub(crate) fn advance(&mut self) -> Option<Result<Reply, TransportError>> {
        self.pollable = None;
        loop {
            match core::mem::replace(&mut self.stage, Stage::Over).advance() {
                Step::Next(stage) => self.stage = stage,
                Step::Stuck(stage) => {
                    self.pollable = stage.subscribe();
                    self.stage = stage;
                    return None;
                }
                Step::End(end) => return Some(end),
            }
        }
    }
}

impl Stage {
    fn advance(self) -> Step {
        match self {
            Self::Writing(writing) => writing.advance(),
            Self::Awaiting(response) => answer(response),
            Self::Reading(reading) => reading.advance(),
            Self::Over => Step::Stuck(Self::Over),
        }
    }

    fn subscribe(&self) -> Option<Pollable> {
        match self {
            Self::Writing(writing) => Some(writing.stream.subscribe()),
            Self::Awaiting(response) => Some(response.subscribe()),
            Self::Reading(reading) => Some(reading.stream.subscribe()),
            Self::Over => None,
        }
    }
}

impl Writing {
    fn advance(mut self) -> Step {
        loop {
            match self.stream.check_write() {
                Ok(0) => return Step::Stuck(Stage::Writing(self)),
                Ok(_) if self.is_flushed => return Step::Next(self.finish()),
                Ok(room) => {
                    if self.write(room).is_err() {
                        return Step::Next(self.finish());
                    }
                }
                // The server may have answered before it had read all: the answer says more than this error.
                Err(_) => return Step::Next(self.finish()),
            }
        }
    }

    /// Writes what there is room for, and flushes what is last.
    fn write(&mut self, room: u64) -> Result<(), StreamError> {
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(self.rest.len());
        self.stream.write(&self.rest[..room])?;
        self.rest.drain(..room);
        self.is_flushed = self.rest.is_empty();
        if self.is_flushed { self.stream.flush() } else { Ok(()) }
    }

    fn finish(self) -> Stage {
        let Self { stream, body, response, .. } = self;
        drop(stream);
        // An error here is told by the response too.
        let _ = OutgoingBody::finish(body, None);
        Stage::Awaiting(response)
    }
}

/// Looks for the head of the answer.
fn answer(response: FutureIncomingResponse) -> Step {
    let Some(got) = response.get() else { return Step::Stuck(Stage::Awaiting(response)) };
    // Before anything can return: it has to go before what it brought.
    drop(response);
    match got.map_err(|()| TransportError::InternalError).and_then(|got| got.map_err(|code| transport_error(&code))) {
        Ok(incoming) => reading(incoming).map_or(Step::End(Err(TransportError::InternalError)), Step::Next),
        Err(error) => Step::End(Err(error)),
    }
}

fn reading(incoming: IncomingResponse) -> Result<Stage, ()> {
    let headers = incoming.headers().entries();
    let text =
        |value| String::from_utf8(value).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into());
    let headers = headers.into_iter().map(|(name, value)| (name, text(value))).collect();
    let reply = Reply { status: incoming.status(), headers, body: vec![] };
    let body = incoming.consume()?;
    let stream = body.stream()?;
    Ok(Stage::Reading(Reading { stream, _body: body, _response: incoming, reply }))
}

impl Reading {
    fn advance(mut self) -> Step {
        loop {
            match self.stream.read(PIECE) {
                Ok(piece) if piece.is_empty() => return Step::Stuck(Stage::Reading(self)),
                Ok(piece) if self.reply.body.is_empty() => self.reply.body = piece,
                Ok(piece) => self.reply.body.extend(piece),
                Err(StreamError::Closed) => return Step::End(Ok(self.reply)),
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = http_error_code(&error);
                    let error = code.map_or(TransportError::ConnectionTerminated, |code| transport_error(&code));
                    return Step::End(Err(error));
                }
            }
            if self.reply.body.len() > LARGEST_BODY {
                return Step::End(Err(TransportError::HttpResponseBodySize));
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
