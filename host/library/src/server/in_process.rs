//! A server without a network, behind the same hook as the real client.

use std::sync::Arc;

use bytes::Bytes;

use super::model_server::Server;
use crate::http::{Answered, Sender, Timeouts, body};

/// Carries requests to a server in the same process.
#[derive(Clone, Debug)]
pub struct InProcess(pub Arc<Server>);

impl Sender for InProcess {
    fn send(&self, request: http::Request<Bytes>, _timeouts: Timeouts) -> Answered {
        let server = Arc::clone(&self.0);
        Box::pin(async move { Ok(server.handle(request).await.map(body)) })
    }
}
