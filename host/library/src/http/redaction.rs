//! The key on its way back: an endpoint that repeats it, in a message about a wrong key or by echoing headers, must bring it
//! neither into the sandbox nor into results and messages.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use http_body::Frame;
use http_body_util::BodyExt;

use super::secret::Secret;
use super::sender::Body;
use super::transport_error::TransportError;

/// The same answer with an asterisk for every byte of the key; so its length stays what its header says.
pub(super) fn redacted(answer: Response<Body>, secret: &Arc<Secret>) -> Response<Body> {
    let (mut parts, body) = answer.into_parts();
    blank_fields(&mut parts.headers, secret);
    let body = Redacted { body, secret: Arc::clone(secret), held: Bytes::new(), next: None };
    Response::from_parts(parts, body.boxed_unsync())
}

fn blank_fields(fields: &mut HeaderMap, secret: &Secret) {
    for value in fields.values_mut() {
        let mut bytes = value.as_bytes().to_vec();
        secret.blank(&mut bytes);
        if bytes != value.as_bytes() {
            *value = HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static("*"));
        }
    }
}

/// A body whose pieces are looked through, with what may be the beginning of a key held back until more has come.
struct Redacted {
    body: Body,
    secret: Arc<Secret>,
    held: Bytes,
    /// What comes after what was held.
    next: Option<Frame<Bytes>>,
}

impl Redacted {
    /// What of this piece, and of what was held, can go.
    fn pass(&mut self, piece: Bytes) -> Bytes {
        let mut piece = match self.held.is_empty() {
            // Copied only where others have it too.
            true => BytesMut::from(piece),
            false => BytesMut::from(&[&self.held[..], &piece].concat()[..]),
        };
        let held = self.secret.blank(&mut piece);
        self.held = piece.split_off(held).freeze();
        piece.freeze()
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
                Err(frame) => {
                    self.next = frame.into_trailers().ok().map(|mut trailers| {
                        blank_fields(&mut trailers, &self.secret);
                        Frame::trailers(trailers)
                    });
                    std::mem::take(&mut self.held)
                }
            };
            if !passed.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(passed))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;

    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    async fn through(pieces: &[&'static str], key: &str) -> String {
        let frames = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
        let body = StreamBody::new(tokio_stream::iter(frames.collect::<Vec<_>>())).boxed_unsync();
        let answer = redacted(Response::new(body), &Arc::new(Secret::new(key).unwrap()));
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_key_is_blanked_wherever_it_is_cut() {
        let blank = "*".repeat(KEY.len());
        let escaped = "wrong: sk\\u002d0123456789%61bcdef c2stMDEyMzQ1Njc4OWFiY2RlZg== more";
        let expected = through(&[escaped], KEY).await;
        assert!(!expected.contains("0123") && !expected.contains("MDEy") && expected.ends_with(" more"), "{expected}");
        for cut in 1..escaped.len() {
            let (first, second) = escaped.split_at(cut);
            assert_eq!(through(&[first, second], KEY).await, expected, "cut at {cut}");
        }
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
        assert_eq!(through(&[""], KEY).await, "");
        let stars = "*".repeat(40);
        assert_eq!(through(&[stars.clone().leak()], &stars[..20]).await, stars, "it comes to an end");
    }

    #[test]
    fn headers_are_blanked_too() {
        let body = StreamBody::new(tokio_stream::iter([Ok(Frame::data(Bytes::new()))])).boxed_unsync();
        let mut answer = Response::new(body);
        answer.headers_mut().insert("x-echo", HeaderValue::from_static("Bearer sk-0123456789abcdef"));
        let answer = redacted(answer, &Arc::new(Secret::new(KEY).unwrap()));
        assert_eq!(answer.headers()["x-echo"], format!("Bearer {}", "*".repeat(KEY.len())));
    }
}
