//! The client: connections that are kept, HTTP/2 where the server offers it, the system's roots, no redirects.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, BodyStream, Limited, StreamBody};
use reqwest::Client;
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt;
use tracing::debug;

use super::client_errors::{Tunnel, is_hang_up, refused_tunnel, transport_error};
use super::lines::{Lines, Place, Route};
use super::sender::{Answered, Body, Sender, Timeouts, body};
use super::transport_error::TransportError;
use crate::contract;
use crate::error::{ClientError, Error};

/// Carries requests over the network.
#[derive(Clone, Debug)]
pub struct Pool {
    lines: Arc<Lines>,
    /// Whether there may be a connection that was used before.
    has_connections: Arc<AtomicBool>,
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
        let lines = Lines::new(route.clone(), Duration::from_millis(timeouts.connect));
        let lines = lines.map_err(|error| Error::Client(ClientError::new(error)))?;
        Ok(Arc::new(Self { lines: Arc::new(lines), has_connections: Arc::default() }))
    }

    /// The head of the answer. A connection that the server closed while it lay idle is no fault of the request: that is
    /// tried once more, on another one.
    async fn execute(&self, client: &Client, request: reqwest::Request) -> reqwest::Result<reqwest::Response> {
        let again = request.try_clone().filter(|_| self.has_connections.load(Ordering::Relaxed));
        let started = Instant::now();
        let answer = match (client.execute(request).await, again) {
            (Err(error), Some(again)) if started.elapsed() < STALE_WITHIN && is_hang_up(&error) => {
                debug!(%error, "a connection was stale");
                client.execute(again).await
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
            let (client, place) = pool.lines.place();
            let answer = pool.execute(&client, request);
            let answer = match timeouts.first_byte {
                Some(first_byte) => {
                    timeout(first_byte, answer).await.map_err(|_| TransportError::ConnectionReadTimeout)?
                }
                None => answer.await,
            };
            let answer = answer.inspect_err(|error| debug!(%error, causes = ?error.source(), "no answer"));
            let answer = match answer {
                Ok(answer) => http::Response::from(answer),
                Err(error) => match of_proxy(&error) {
                    Some(answer) => return Ok(answer),
                    None => return Err(transport_error(&error)),
                },
            };
            let (status, version) = (answer.status().as_u16(), answer.version());
            if version == http::Version::HTTP_2 {
                pool.lines.speak_http2();
            }
            debug!(status, ?version, bytes_sent = bytes, after_ms = started.elapsed().as_millis(), "answered");
            Ok(answer.map(|body| bounded(body, timeouts.between_bytes, place)))
        })
    }
}

/// The body, with an end to waiting for its next piece, and to its length. It has its place as long as it is read.
fn bounded(body: reqwest::Body, between_bytes: Option<Duration>, place: Place) -> Body {
    let body = Limited::new(body, MOST_BODY_BYTES).map_err(move |error| {
        let _place = &place;
        match error.downcast::<reqwest::Error>() {
            Ok(error) => transport_error(&error),
            Err(_) => TransportError::HttpResponseBodySize(MOST_BODY_BYTES as u64),
        }
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

/// What a proxy answered in the endpoint's place, when it was asked for a tunnel: the policy knows what that means.
fn of_proxy(error: &reqwest::Error) -> Option<http::Response<Body>> {
    let (status, message) = match refused_tunnel(error)? {
        Tunnel::WantsCredentials => (http::StatusCode::PROXY_AUTHENTICATION_REQUIRED, ""),
        Tunnel::Refused => (http::StatusCode::BAD_GATEWAY, "the proxy lets no connection through now"),
    };
    let mut answer = http::Response::new(body(message));
    *answer.status_mut() = status;
    Some(answer)
}

/// A connection that is stale says so at once.
const STALE_WITHIN: Duration = Duration::from_secs(1);
/// No completion is as large; it has to fit into the sandbox.
const MOST_BODY_BYTES: usize = 64 * 1024 * 1024;
