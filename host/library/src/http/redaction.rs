//! The key on its way back: an endpoint that repeats it, in a message about a wrong key or by echoing headers, must bring it
//! neither into the sandbox nor into results and messages.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderValue, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use memchr::memmem;

use super::sender::Body;
use super::transport_error::TransportError;

/// The same answer with an asterisk for every sign of the key; so its length stays what its header says.
pub(super) fn redacted(answer: Response<Body>, key: &str) -> Response<Body> {
    // Local servers are given keys such as `none`, which are no secrets, but words that answers have.
    if key.len() < SHORTEST_SECRET {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    for value in parts.headers.values_mut() {
        if let Some(blank) = blanked(value.as_bytes(), key.as_bytes()) {
            *value = HeaderValue::from_bytes(&blank).unwrap_or(HeaderValue::from_static("*"));
        }
    }
    let body = Redacted { body, key: key.as_bytes().into(), held: Bytes::new(), next: None };
    Response::from_parts(parts, body.boxed_unsync())
}

/// A body whose pieces are looked through, with what may be the beginning of a key held back until more has come.
struct Redacted {
    body: Body,
    key: Box<[u8]>,
    held: Bytes,
    /// What comes after what was held.
    next: Option<Frame<Bytes>>,
}

impl Redacted {
    /// What of this piece, and of what was held, can go.
    fn pass(&mut self, piece: Bytes) -> Bytes {
        let mut piece = if self.held.is_empty() { piece } else { [&self.held[..], &piece].concat().into() };
        if let Some(blank) = blanked(&piece, &self.key) {
            piece = blank.into();
        }
        let longest = piece.len().min(self.key.len() - 1);
        let held = (1..=longest).rev().find(|length| piece.ends_with(&self.key[..*length])).unwrap_or(0);
        self.held = piece.split_off(piece.len() - held);
        piece
    }
}

impl http_body::Body for Redacted {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        loop {
            if let Some(frame) = self.next.take() {
                return Poll::Ready(Some(Ok(frame)));
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None if self.held.is_empty() => return Poll::Ready(None),
                None => return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.held))))),
            };
            let passed = match frame.into_data() {
                Ok(piece) => self.pass(piece),
                Err(trailers) => {
                    self.next = Some(trailers);
                    std::mem::take(&mut self.held)
                }
            };
            if !passed.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(passed))));
            }
        }
    }
}

/// The same without the key, where it has one.
fn blanked(bytes: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let mut found = memmem::find_iter(bytes, key).peekable();
    found.peek()?;
    let mut blank = bytes.to_vec();
    found.for_each(|at| blank[at..at + key.len()].fill(b'*'));
    Some(blank)
}

const SHORTEST_SECRET: usize = 16;

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;

    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    async fn through(pieces: &[&'static str], key: &str) -> String {
        let frames = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
        let body = StreamBody::new(tokio_stream::iter(frames.collect::<Vec<_>>())).boxed_unsync();
        let answer = redacted(Response::new(body), key);
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_key_is_blanked_wherever_it_is_cut() {
        let blank = "*".repeat(KEY.len());
        let whole = "wrong: sk-0123456789abcdef, sk-0123456789abcdefsk-0123456789abcde";
        let expected = whole.replace(KEY, &blank);
        assert_eq!(through(&[whole], KEY).await, expected);
        for cut in 1..whole.len() {
            let (first, second) = whole.split_at(cut);
            assert_eq!(through(&[first, second], KEY).await, expected, "cut at {cut}");
        }
        assert_eq!(through(&["x", "sk-012", "345", "6789abcdef", "sk-"], KEY).await, format!("x{blank}sk-"));
    }

    #[tokio::test]
    async fn what_is_no_secret_stays() {
        assert_eq!(through(&["nothing is EMPTY"], "EMPTY").await, "nothing is EMPTY");
        assert_eq!(through(&[""], KEY).await, "");
        let stars = "*".repeat(40);
        assert_eq!(through(&[stars.clone().leak()], &stars[..20]).await, stars, "it comes to an end");
    }

    #[test]
    fn headers_are_blanked_too() {
        let body = StreamBody::new(tokio_stream::iter([Ok(Frame::data(Bytes::new()))])).boxed_unsync();
        let mut answer = Response::new(body);
        answer.headers_mut().insert("x-echo", HeaderValue::from_static("Bearer sk-0123456789abcdef"));
        let answer = redacted(answer, KEY);
        assert_eq!(answer.headers()["x-echo"], format!("Bearer {}", "*".repeat(KEY.len())));
    }
}
