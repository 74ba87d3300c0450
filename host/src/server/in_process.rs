//! A server without a network, behind the same hook as the real client.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};

use super::Server;
use crate::http::{Answered, Send, Timeouts};

/// Carries requests to a server in the same process.
#[derive(Clone, Debug)]
pub struct InProcess(pub Arc<Server>);

impl Send for InProcess {
    fn send(&self, request: http::Request<Bytes>, _timeouts: Timeouts) -> Answered {
        let server = Arc::clone(&self.0);
        Box::pin(async move {
            let response = server.handle(request).await;
            Ok(response.map(|body| Full::new(body).map_err(|never| match never {}).boxed_unsync()))
        })
    }
}
