//! The server that every host is run against: ten requests in any two seconds, so that of 20 documents some are refused at first.

use std::sync::Arc;
use std::time::Duration;

use becalm::server::{Listening, Model, Server, Spread};

pub(crate) async fn listening() -> (Listening, Arc<Server>) {
    let latency = Spread::exactly(Duration::from_millis(20));
    let server = Arc::new(Server::new(Model { window: Duration::from_secs(2), latency, ..Model::default() }));
    (Listening::on_port(0, Arc::clone(&server)).await.unwrap(), server)
}
