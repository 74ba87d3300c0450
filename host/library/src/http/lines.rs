//! Connections. Over HTTP/1.1 each request has one, and the client sees to that by itself; HTTP/2 carries many on one, as many
//! as the server allows, and what is above that would wait where nobody sees it: so there are more of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client};

/// How the endpoint is to be reached.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// Certificates in PEM form that are trusted beside the system's. Default: none.
    pub certificates: Option<Vec<u8>>,
    /// Speak HTTP/2 without asking, over plain TCP too. Default: as the server offers it in the TLS handshake, else HTTP/1.1.
    pub http2_only: bool,
}

/// Clients of one endpoint, each with an HTTP/2 connection of its own.
#[derive(Debug)]
pub(super) struct Lines {
    route: Route,
    connect: Duration,
    clients: Mutex<Vec<(Client, Place)>>,
    speaks_http2: AtomicBool,
}

/// Held by a request until its answer has come to its end.
pub(super) type Place = Arc<()>;

impl Lines {
    pub(super) fn new(route: Route, connect: Duration) -> reqwest::Result<Self> {
        let first = client(&route, connect)?;
        Ok(Self { route, connect, clients: Mutex::new(vec![(first, Place::default())]), speaks_http2: false.into() })
    }

    /// A client that has room for a request.
    pub(super) fn place(&self) -> (Client, Place) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room =
            |place: &Place| Arc::strong_count(place) <= STREAMS || !self.speaks_http2.load(Ordering::Relaxed);
        let found = clients.iter().position(|(_, place)| has_room(place)).or_else(|| {
            let another = client(&self.route, self.connect).ok().filter(|_| clients.len() < MOST_LINES)?;
            clients.push((another, Place::default()));
            Some(clients.len() - 1)
        });
        let (client, place) = &clients[found.unwrap_or(0)];
        (client.clone(), Arc::clone(place))
    }

    /// An answer came over HTTP/2.
    pub(super) fn speak_http2(&self) {
        self.speaks_http2.store(true, Ordering::Relaxed);
    }
}

fn client(route: &Route, connect: Duration) -> reqwest::Result<Client> {
    // It fails only if a provider is installed already, which does as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .redirect(Policy::none())
        .connect_timeout(connect)
        .pool_idle_timeout(MOST_IDLE)
        .user_agent(concat!("becalm/", env!("CARGO_PKG_VERSION")))
        .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]))
        .referer(false)
        .tcp_nodelay(true);
    if let Some(pem) = &route.certificates {
        client = client.tls_certs_merge(Certificate::from_pem_bundle(pem)?);
    }
    if route.http2_only {
        client = client.http2_prior_knowledge();
    }
    client.build()
}

/// Servers close idle connections after 5 s (uvicorn, Node) to 75 s (nginx); one that is closed while a request is under way
/// to it costs that request.
const MOST_IDLE: Duration = Duration::from_secs(4);
/// What a server that keeps to the recommendation allows on one connection at least (RFC 9113 §6.5.2).
const STREAMS: usize = 100;
/// For 10,000 in flight.
const MOST_LINES: usize = 100;
