//! The client on real sockets: TLS with a made-up authority, HTTP/2, and servers that reset, stall, dribble, hang up or
//! never come to an end.

mod support;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::http::{Body, Timeouts, TransportError};
use becalm::{Access, Document, Pool, Route, Sender, Settings, Verdict};
use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A server whose connections are served by this, each with its number.
async fn served<Served>(serve: impl Fn(usize, TcpStream) -> Served + Send + 'static) -> SocketAddr
where
    Served: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(number, stream));
        }
    });
    address
}

/// Reads a request without a body worth reading; nothing if there is none.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    stream.read_exact(&mut vec![0; length]).await.ok().map(drop)
}

async fn say(stream: &mut BufReader<TcpStream>, text: &str) {
    let _ = stream.get_mut().write_all(text.as_bytes()).await;
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn pool(route: &Route) -> Arc<Pool> {
    let timeouts = becalm::Timeouts { connect: 2_000, first_byte: 2_000, between_bytes: 2_000, whole_request: 5_000 };
    Pool::new(&timeouts, route).unwrap()
}

async fn send(pool: &Pool, url: String, between_bytes: Duration) -> Result<Response<Body>, TransportError> {
    let timeouts = Timeouts { first_byte: Some(Duration::from_secs(2)), between_bytes: Some(between_bytes) };
    pool.send(Request::post(url).body(Bytes::from_static(b"{}")).unwrap(), timeouts).await
}

/// Sends a request, and reads the answer to its end.
async fn exchange(pool: &Pool, url: String) -> Result<(Version, Bytes), TransportError> {
    let answer = send(pool, url, Duration::from_millis(300)).await?;
    let version = answer.version();
    Ok((version, answer.into_body().collect().await?.to_bytes()))
}

/// An authority that nobody knows, in PEM form, and a server's key and certificate by it.
fn authority() -> (String, Arc<ServerConfig>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_string(), "127.0.0.1".to_string()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (issuer.pem(), Arc::new(config))
}

/// Says the version of the protocol.
async fn version_of<Stream>(io: TokioIo<Stream>, is_http2: bool)
where
    Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: Request<hyper::body::Incoming>| async move {
        let text = format!("{:?}", request.version());
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(text))))
    });
    if is_http2 {
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
    } else {
        let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_of_ones_own_is_trusted_if_it_is_named_and_http2_is_taken_where_it_is_offered() {
    let (pem, config) = authority();
    for (offered, version) in [("h2", Version::HTTP_2), ("http/1.1", Version::HTTP_11)] {
        let mut config = ServerConfig::clone(&config);
        config.alpn_protocols = vec![offered.into()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let address = served(move |_, stream| {
            let acceptor = acceptor.clone();
            async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    version_of(TokioIo::new(stream), is_http2).await;
                }
            }
        })
        .await;
        let url = format!("https://localhost:{}/v1", address.port());
        let refused = exchange(&pool(&Route::default()), url.clone()).await.unwrap_err();
        assert!(matches!(refused, TransportError::TlsCertificateError), "{refused:?}");
        let route = Route { certificates: Some(pem.clone().into()), http2_only: false };
        let (seen, body) = exchange(&pool(&route), url).await.unwrap();
        assert_eq!((seen, body), (version, Bytes::from(format!("{version:?}"))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_spoken_over_plain_tcp_if_that_is_set() {
    let address = served(|_, stream| version_of(TokioIo::new(stream), true)).await;
    let route = Route { http2_only: true, ..Route::default() };
    let (version, _) = exchange(&pool(&route), format!("http://{address}/v1")).await.unwrap();
    assert_eq!(version, Version::HTTP_2);
}

/// `{"unpacked":true}`, by four programs; nobody asked for it.
const PACKED: [(&str, &[u8]); 4] = [
    ("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x2a\xcd\x2b\x48\x4c\xce\x4e\x4d\x51\xb2\x2a\x29\x2a\x4d\xad\x05\x00\x0d\xe8\x17\x05\x11\x00\x00\x00"),
    ("deflate", b"\x78\x9c\xab\x56\x2a\xcd\x2b\x48\x4c\xce\x4e\x4d\x51\xb2\x2a\x29\x2a\x4d\xad\x05\x00\x39\x8f\x06\x82"),
    ("br", b"\x0b\x08\x80\x7b\x22\x75\x6e\x70\x61\x63\x6b\x65\x64\x22\x3a\x74\x72\x75\x65\x7d\x03"),
    ("zstd", b"\x28\xb5\x2f\xfd\x20\x11\x89\x00\x00\x7b\x22\x75\x6e\x70\x61\x63\x6b\x65\x64\x22\x3a\x74\x72\x75\x65\x7d"),
];

/// A server that answers every request with this, packed so.
async fn packed(coding: &'static str, status: &'static str, body: Vec<u8>) -> SocketAddr {
    served(move |_, stream| {
        let body = body.clone();
        async move {
            let mut stream = BufReader::new(stream);
            while read_request(&mut stream).await.is_some() {
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-encoding: {coding}\r\nretry-after: 7\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                say(&mut stream, &head).await;
                let _ = stream.get_mut().write_all(&body).await;
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_packed_is_unpacked_errors_too_and_a_bomb_is_a_fault() {
    let pool = pool(&Route::default());
    for (coding, bytes) in PACKED {
        for status in ["200 OK", "429 Too Many Requests"] {
            let address = packed(coding, status, bytes.to_vec()).await;
            let answer = send(&pool, format!("http://{address}/"), Duration::from_secs(2)).await.unwrap();
            assert_eq!(answer.headers()["retry-after"], "7", "{coding}: hints stay");
            assert!(!answer.headers().contains_key("content-encoding"));
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, Bytes::from_static(b"{\"unpacked\":true}"), "{coding}, {status}");
        }
    }
    // 80 MiB of zeros, in 80 KB.
    let mut bomb = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 80 * 1024 * 1024), &mut bomb).unwrap();
    let address = packed("gzip", "200 OK", bomb.finish().unwrap()).await;
    let error = exchange(&pool, format!("http://{address}/")).await.unwrap_err();
    assert!(matches!(error, TransportError::HttpResponseBodySize(_)), "{error:?}");
    let address = packed("gzip", "200 OK", b"this is no gzip".to_vec()).await;
    let error = exchange(&pool, format!("http://{address}/")).await.unwrap_err();
    assert!(matches!(error, TransportError::HttpResponseIncomplete), "{error:?}");
}

/// HTTP/2: a stream that is refused was not looked at; one that is reset concerns its request alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_refused_is_told_from_one_that_broke() {
    for (reason, error) in [
        (h2::Reason::REFUSED_STREAM, TransportError::ConnectionLimitReached),
        (h2::Reason::ENHANCE_YOUR_CALM, TransportError::ConnectionLimitReached),
        (h2::Reason::INTERNAL_ERROR, TransportError::ConnectionTerminated),
    ] {
        let address = served(move |_, stream| async move {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                respond.send_reset(reason);
            }
        })
        .await;
        let route = Route { http2_only: true, ..Route::default() };
        let met = exchange(&pool(&route), format!("http://{address}/")).await.unwrap_err();
        assert_eq!(met, error, "{reason:?}");
    }
}

/// What a connection does not carry would wait in the client, where nobody sees it.
#[tokio::test(flavor = "multi_thread")]
async fn http2_has_as_many_connections_as_its_requests_need() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let address = served(move |_, stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let service = service_fn(|_: Request<hyper::body::Incoming>| async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
            });
            let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = builder.max_concurrent_streams(100).serve_connection(TokioIo::new(stream), service).await;
        }
    })
    .await;
    let pool = pool(&Route { http2_only: true, ..Route::default() });
    let url = format!("http://{address}/");
    exchange(&pool, url.clone()).await.unwrap();
    let started = Instant::now();
    let all = (0..250).map(|_| exchange(&pool, url.clone()));
    assert!(futures_util::future::join_all(all).await.into_iter().all(|answer| answer.is_ok()));
    assert_eq!(connections.load(Ordering::Relaxed), 3);
    assert!(started.elapsed() < Duration::from_millis(900), "some waited: {:?}", started.elapsed());
}

/// Those who look at their logs know who it was.
#[tokio::test(flavor = "multi_thread")]
async fn it_says_its_name_and_asks_for_nothing_packed() {
    let (told, mut heard) = mpsc::channel(1);
    let curious = served(move |_, stream| {
        let told = told.clone();
        async move {
            let mut stream = BufReader::new(stream);
            let (mut head, mut line) = (String::new(), String::new());
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).await.unwrap();
                head += &line.to_ascii_lowercase();
            }
            say(&mut stream, ANSWER).await;
            told.send(head).await.unwrap();
        }
    })
    .await;
    exchange(&pool(&Route::default()), format!("http://{curious}/")).await.unwrap();
    let head = heard.recv().await.unwrap();
    assert!(head.contains(concat!("user-agent: becalm/", env!("CARGO_PKG_VERSION"), "\r\n")), "{head}");
    assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_up_stalls_or_never_ends_is_given_up() {
    let pool = pool(&Route::default());
    let hangs_up = served(|_, stream| async { drop(stream) }).await;
    let error = exchange(&pool, format!("http://{hangs_up}/")).await.unwrap_err();
    assert!(matches!(error, TransportError::ConnectionTerminated), "{error:?}");

    let stalls = served(|_, stream| async {
        let mut stream = BufReader::new(stream);
        read_request(&mut stream).await;
        say(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;
        std::future::pending::<()>().await;
    })
    .await;
    let started = Instant::now();
    let error = exchange(&pool, format!("http://{stalls}/")).await.unwrap_err();
    assert!(matches!(error, TransportError::ConnectionReadTimeout), "{error:?}");
    assert!((300..1_500).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());

    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let endless = served(move |_, stream| {
        let counted = Arc::clone(&counted);
        async move {
            let mut stream = BufReader::new(stream);
            read_request(&mut stream).await;
            say(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n").await;
            while stream.get_mut().write_all(&[b'x'; 65_536]).await.is_ok() {
                counted.fetch_add(65_536, Ordering::Relaxed);
            }
        }
    })
    .await;
    let error = exchange(&pool, format!("http://{endless}/")).await.unwrap_err();
    assert!(matches!(error, TransportError::HttpResponseBodySize(_)), "{error:?}");
    assert!(sent.load(Ordering::Relaxed) < 100 * 1024 * 1024, "{} bytes were taken", sent.load(Ordering::Relaxed));
}

/// A byte now and then keeps every other timeout from ending it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dribbles_is_given_up_after_the_whole_time() {
    let dribbles = served(|_, stream| async {
        let mut stream = BufReader::new(stream);
        read_request(&mut stream).await;
        say(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").await;
        while stream.get_mut().write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let sandbox = becalm::Sandbox::new().unwrap();
    let mut settings: Settings = Settings::default();
    settings.endpoint.base_url = format!("http://{dribbles}/v1");
    settings.chat.model = "m".into();
    settings.timeouts.whole_request = 600;
    settings.retry.max_attempts = 1;
    let access = Access::new(&settings.endpoint.base_url, None).unwrap();
    let sender = Pool::new(&settings.timeouts, &Route::default()).unwrap();
    let started = Instant::now();
    let report = sandbox.analyze_batch(&[Document::text("a", "t")], &settings, access, sender).await.unwrap();
    assert!(matches!(report.outcomes[0].verdict, Verdict::Failed(_)), "{report:?}");
    assert!((600..2_000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_dropped_is_aborted() {
    let (told, mut heard) = mpsc::channel(1);
    let waits = served(move |_, stream| {
        let told = told.clone();
        async move {
            let mut stream = BufReader::new(stream);
            read_request(&mut stream).await;
            told.send("there").await.unwrap();
            let end = stream.read(&mut [0]).await;
            told.send(if matches!(end, Ok(0) | Err(_)) { "gone" } else { "more" }).await.unwrap();
        }
    })
    .await;
    let pool = pool(&Route::default());
    let sending = tokio::spawn(async move { exchange(&pool, format!("http://{waits}/")).await.map(drop) });
    assert_eq!(heard.recv().await, Some("there"));
    sending.abort();
    let gone = tokio::time::timeout(Duration::from_secs(2), heard.recv()).await;
    assert_eq!(gone.unwrap(), Some("gone"));
}

/// The server closes an idle connection at the moment when the next request is on its way.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_connection_is_tried_once_more_and_costs_no_attempt() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let forgetful = served(move |_, stream| {
        let counted = Arc::clone(&counted);
        async move {
            let mut stream = BufReader::new(stream);
            read_request(&mut stream).await;
            counted.fetch_add(1, Ordering::Relaxed);
            say(&mut stream, ANSWER).await;
            // The next one on this connection is read, and the connection closed without a word.
            if read_request(&mut stream).await.is_some() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }
    })
    .await;
    let pool = pool(&Route::default());
    for _ in 0..10 {
        let (_, body) = exchange(&pool, format!("http://{forgetful}/")).await.unwrap();
        assert_eq!(body, Bytes::from_static(b"ok"));
    }
    // A connection that is not back in the pool when the next request goes is not used by that one.
    let requests_sent = requests.load(Ordering::Relaxed);
    assert!((11..20).contains(&requests_sent), "{requests_sent} requests for 10 answers");

    // One that does so every time is a fault, after one more try.
    let (count, counted) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&requests));
    counted.store(0, Ordering::Relaxed);
    let hung_up = Arc::clone(&count);
    let broken = served(move |_, stream| {
        let hung_up = Arc::clone(&hung_up);
        async move {
            read_request(&mut BufReader::new(stream)).await;
            hung_up.fetch_add(1, Ordering::Relaxed);
        }
    })
    .await;
    let error = exchange(&pool, format!("http://{broken}/")).await.unwrap_err();
    assert!(matches!(error, TransportError::ConnectionTerminated), "{error:?}");
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
