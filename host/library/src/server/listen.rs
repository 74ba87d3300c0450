//! A server on a TCP port of this machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::model_server::Server;

/// A server that listens until this is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl Listening {
    /// Listens on the loopback interface; port 0 takes any that is free.
    ///
    /// # Errors
    ///
    /// If the port is taken.
    pub async fn on_port(port: u16, server: Arc<Server>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, server)).abort_handle();
        Ok(Self { address, accepting })
    }

    /// The base URL for clients.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    loop {
        // An error here concerns the one connection that could not be accepted.
        if let Ok((stream, _)) = listener.accept().await {
            server.connected();
            tokio::spawn(serve(stream, Arc::clone(&server)));
        }
    }
}

async fn serve(stream: TcpStream, server: Arc<Server>) {
    let service = service_fn(move |request: http::Request<Incoming>| {
        let server = Arc::clone(&server);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let response = server.handle(http::Request::from_parts(parts, body)).await;
            Ok::<_, hyper::Error>(response.map(Full::new))
        }
    });
    let _ = stream.set_nodelay(true);
    // A connection that ends badly is the client's concern.
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
}
