//! An endpoint on a socket that answers as it is told, request by request, and keeps what was sent to it.

#![allow(dead_code, reason = "every test program uses a part of it")]

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What it says to a request.
#[derive(Clone)]
pub(crate) struct Said {
    pub(crate) status: u16,
    /// More lines of the head, each with its end.
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// The endpoint.
pub(crate) struct Wire {
    pub(crate) url: String,
    pub(crate) bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    /// The head of the latest request.
    pub(crate) head: Arc<Mutex<String>>,
}

impl Wire {
    /// One that says this to the request of that number, from 0.
    pub(crate) async fn saying(say: impl Fn(usize) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let bodies = Arc::<Mutex<Vec<_>>>::default();
        let head = Arc::<Mutex<String>>::default();
        let (kept, latest, say) = (Arc::clone(&bodies), Arc::clone(&head), Arc::new(say));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&latest), Arc::clone(&say)));
            }
        });
        Self { url, bodies, head }
    }

    /// One that says always the same.
    pub(crate) async fn answering(status: u16, body: &str) -> Self {
        let said = Said { status, headers: String::new(), body: body.into() };
        Self::saying(move |_| said.clone()).await
    }

    /// One that completes every chat with this text.
    pub(crate) async fn completing(text: &str) -> Self {
        Self::answering(200, &completion(text)).await
    }
}

/// The body of a completion.
pub(crate) fn completion(text: &str) -> String {
    let message = json!({"role": "assistant", "content": text});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    json!({"id": "c", "object": "chat.completion", "choices": [choice]}).to_string()
}

async fn serve(
    stream: TcpStream,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
    latest: Arc<Mutex<String>>,
    say: Arc<impl Fn(usize) -> Said>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut head, mut length) = (String::new(), String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            head += &line;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        *latest.lock().unwrap() = head;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let number = {
            let mut kept = kept.lock().unwrap();
            kept.push(body);
            kept.len() - 1
        };
        let Said { status, headers, body } = say(number);
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.get_mut().write_all(format!("{head}{body}").as_bytes()).await?;
    }
}
