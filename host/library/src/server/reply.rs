//! What a server sends: completions, refusals, errors, in the form of OpenAI-compatible endpoints.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::limiter::{Budget, Decision};
use super::model::HintForm;
use crate::tokens;

/// A completion that is asked for.
pub(super) struct Wanted {
    model: String,
    prompt_bytes: usize,
    max_tokens: u64,
    /// The answer takes all of them.
    is_full: bool,
}

impl Wanted {
    /// Reads a request as real endpoints do: 415 without the JSON content type, 400 without JSON.
    pub(super) fn read(request: &Request<Bytes>, is_full: bool) -> Result<Self, Box<Response<Bytes>>> {
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !content_type.is_some_and(|value| value.starts_with("application/json")) {
            let message = "Content-Type must be application/json";
            return Err(error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message).into());
        }
        let body = serde_json::from_slice::<Value>(request.body());
        let body = body.map_err(|cause| error(StatusCode::BAD_REQUEST, "invalid_json", &cause.to_string()))?;
        let Some(model) = body.get("model").and_then(Value::as_str) else {
            return Err(error(StatusCode::BAD_REQUEST, "missing_model", "you must provide a model").into());
        };
        let most = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| body.get(*name)?.as_u64());
        let model = model.into();
        Ok(Self { model, prompt_bytes: request.body().len(), max_tokens: most.unwrap_or(DEFAULT_MAX_TOKENS), is_full })
    }

    /// What a limiter reserves for it: its prompt, a token for every four bytes, and all that the answer may take.
    pub(super) fn tokens(&self) -> u64 {
        self.prompt_tokens().saturating_add(self.max_tokens)
    }

    /// What it takes in the end.
    pub(super) fn taken(&self) -> u64 {
        self.prompt_tokens() + self.answer_tokens()
    }

    const fn prompt_tokens(&self) -> u64 {
        tokens::estimated(self.prompt_bytes as u64)
    }

    fn answer_tokens(&self) -> u64 {
        if self.is_full { self.max_tokens } else { tokens::estimated(self.text().len() as u64) }
    }

    /// Its text says how much was read, so that answers can be told apart.
    fn text(&self) -> String {
        format!("Analysed {} bytes.", self.prompt_bytes)
    }

    /// It can never be admitted where a whole window has less.
    pub(super) fn oversize(&self, most: u64) -> Option<Response<Bytes>> {
        let message =
            || format!("Request too large on tokens per min (TPM): Limit {most}, Requested {}.", self.tokens());
        let is_oversize = self.tokens() > most;
        is_oversize.then(|| error(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", &message()))
    }

    /// The completion.
    pub(super) fn answer(&self) -> Response<Bytes> {
        let text = self.text();
        let (prompt_tokens, completion_tokens) = (self.prompt_tokens(), self.answer_tokens());
        let body = json!({
            "id": "chatcmpl-mock",
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        });
        json(StatusCode::OK, &body)
    }
}

/// HTTP 429, with the hint in the server's form.
pub(super) fn refused(form: HintForm, wait: Duration, now: Duration) -> Response<Bytes> {
    too_many(form, wait, now, "rate_limit_exceeded", "Rate limit exceeded")
}

/// HTTP 429 for too many requests at one time.
pub(super) fn crowded(form: HintForm, wait: Duration, now: Duration) -> Response<Bytes> {
    too_many(form, wait, now, "concurrency_limit_exceeded", "Too many concurrent requests")
}

fn too_many(form: HintForm, wait: Duration, now: Duration, code: &str, message: &str) -> Response<Bytes> {
    let mut response = error(StatusCode::TOO_MANY_REQUESTS, code, message);
    let headers = response.headers_mut();
    let ms = wait.as_millis();
    match form {
        HintForm::Seconds => drop(headers.insert(RETRY_AFTER, number(ms.div_ceil(1_000)))),
        HintForm::Date => {
            headers.extend([(DATE, http_date(now.as_secs())), (RETRY_AFTER, http_date((now + wait).as_secs() + 1))]);
        }
        HintForm::Milliseconds => drop(headers.insert("retry-after-ms", number(ms))),
        HintForm::None => {}
    }
    response
}

/// The headers that state the budgets; the amount of requests is the stated one, which may be enforced in smaller parts.
pub(super) fn state_budgets(headers: &mut HeaderMap, amount: u64, decision: &Decision) {
    state(headers, "requests", Budget { amount, ..decision.requests });
    if let Some(tokens) = decision.tokens {
        state(headers, "tokens", tokens);
    }
}

fn state(headers: &mut HeaderMap, unit: &str, budget: Budget) {
    let Budget { amount, remaining, reset } = budget;
    let values = [("limit", amount.to_string()), ("remaining", remaining.to_string()), ("reset", go_duration(reset))];
    headers.extend(values.into_iter().filter_map(|(what, value)| {
        let name = HeaderName::try_from(format!("x-ratelimit-{what}-{unit}")).ok()?;
        Some((name, HeaderValue::try_from(value).ok()?))
    }));
}

/// An error body as OpenAI sends it.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> Response<Bytes> {
    let kind = if status == StatusCode::TOO_MANY_REQUESTS { "rate_limit_error" } else { "invalid_request_error" };
    json(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response<Bytes> {
    let body = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// RFC 9110 §5.6.7
fn http_date(seconds: u64) -> HeaderValue {
    let at = Timestamp::from_second(i64::try_from(seconds).unwrap_or(0)).unwrap_or_default();
    let text = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("0"))
}

fn number(value: impl TryInto<u64>) -> HeaderValue {
    HeaderValue::from(value.try_into().unwrap_or(u64::MAX))
}

/// As Go prints it: `52s`, `1m30s`, `350ms`, `1.5s`.
fn go_duration(span: Duration) -> String {
    let (minutes, ms) = (span.as_secs() / 60, span.as_millis() % 60_000);
    match (minutes, ms) {
        (0, 1..1_000) => format!("{ms}ms"),
        (0, _) => format!("{}s", ms as f64 / 1_000.0),
        _ => format!("{minutes}m{}s", ms as f64 / 1_000.0),
    }
}

/// Where a request does not say how long the answer may be.
const DEFAULT_MAX_TOKENS: u64 = 16;
