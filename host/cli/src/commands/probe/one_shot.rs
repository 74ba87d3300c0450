//! One request and no more: whoever sends again gets the same answer again, without the network.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use becalm::http::{Answered, Timeouts, body};
use becalm::{Access, Sender};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;

/// Carries the first request by another sender, and keeps the answer.
#[derive(Clone)]
pub(crate) struct OneShot {
    sender: Arc<dyn Sender>,
    access: Access,
    seen: Arc<Mutex<Option<Seen>>>,
}

/// What came back.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Until the head of the answer.
    pub(crate) taken: Duration,
    body: Bytes,
}

impl OneShot {
    pub(crate) fn new(sender: Arc<dyn Sender>, access: Access) -> Self {
        Self { sender, access, seen: Arc::default() }
    }

    /// The answer, if one came.
    pub(crate) fn seen(&self) -> Option<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sender for OneShot {
    fn send(&self, request: Request<Bytes>, timeouts: Timeouts) -> Answered {
        let one_shot = self.clone();
        Box::pin(async move {
            if let Some(seen) = one_shot.seen() {
                return Ok(seen.again());
            }
            let started = Instant::now();
            let answer = one_shot.sender.send(request, timeouts).await?;
            let taken = started.elapsed();
            let (parts, body) = one_shot.access.redacted(answer).into_parts();
            let body = body.collect().await?.to_bytes();
            let seen = Seen { status: parts.status, headers: parts.headers, taken, body };
            *one_shot.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen.clone());
            Ok(seen.again())
        })
    }
}

impl Seen {
    fn again(&self) -> Response<becalm::http::Body> {
        let mut response = Response::new(body(self.body.clone()));
        *response.status_mut() = self.status;
        response.headers_mut().clone_from(&self.headers);
        response
    }
}
