//! Chat completions behind the crate governor: a burst of 10, then one every 500 ms, which is 10 per 5 s as GCRA.
//!
//!     becalm-limiter-governor PORT

use std::env;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

fn main() -> Result<(), Box<dyn Error>> {
    let port = env::args().nth(1).ok_or("usage: becalm-limiter-governor PORT")?.parse()?;
    let quota = Quota::with_period(SLOT).ok_or("a period of zero")?.allow_burst(BURST);
    let limiter = Arc::new(RateLimiter::direct(quota));
    for connection in TcpListener::bind((Ipv4Addr::LOCALHOST, port))?.incoming() {
        let (connection, limiter) = (connection?, Arc::clone(&limiter));
        thread::spawn(move || serve(connection, &limiter));
    }
    Ok(())
}

/// Answers one request after the other, until the client closes.
fn serve(connection: TcpStream, limiter: &DefaultDirectRateLimiter) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut requests = BufReader::new(connection.try_clone()?);
    let mut connection = connection;
    while skip_request(&mut requests)? {
        let response = match limiter.check() {
            Ok(()) => {
                thread::sleep(LATENCY);
                response("200 OK", "", ANSWER)
            }
            Err(refusal) => {
                let seconds = refusal.wait_time_from(DefaultClock::default().now()).as_secs_f64().ceil();
                response("429 Too Many Requests", &format!("retry-after: {seconds}\r\n"), REFUSAL)
            }
        };
        connection.write_all(response.as_bytes())?;
    }
    Ok(())
}

/// Reads head and body. Says whether there was a request.
fn skip_request(requests: &mut impl BufRead) -> io::Result<bool> {
    let mut length = 0;
    let mut line = String::new();
    while requests.read_line(&mut line)? > 0 {
        let field = line.trim_end().to_ascii_lowercase();
        if field.is_empty() {
            io::copy(&mut requests.take(length), &mut io::sink())?;
            return Ok(true);
        }
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        line.clear();
    }
    Ok(false)
}

fn response(status: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{fields}\r\n{body}")
}

const BURST: NonZeroU32 = NonZeroU32::new(10).unwrap();
const SLOT: Duration = Duration::from_millis(500);
const LATENCY: Duration = Duration::from_millis(50);
const ANSWER: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"some-model","choices":[{"index":0,"message":{"role":"assistant","content":"Fine."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":2,"total_tokens":22}}"#;
const REFUSAL: &str =
    r#"{"error":{"message":"Too many requests","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#;
