//! Waits in the body of a refusal, where providers put them that do not use headers: structured members first, words last.

use alloc::string::{String, ToString};

use memchr::memmem;
use serde_json::{Map, Value};

use super::{Hint, Hints, message, number};
use crate::reply::{Headers, Reply};
use crate::time::{Delay, Epoch};

/// The wait that a body names.
pub(super) fn hint(reply: &Reply, now: Epoch) -> Option<Hint> {
    // A completion is no place to look for one, whatever its text says, and need not be read twice.
    let is_success = (200..300).contains(&reply.status);
    if is_success && (reply.body.len() > LARGEST_ERROR || memmem::find(&reply.body, ERROR).is_none()) {
        return None;
    }
    let body = serde_json::from_slice::<Value>(&reply.body).ok()?;
    let body = body.get(0).unwrap_or(&body);
    if body.get("choices").is_some() {
        return None;
    }
    wait(body, now, NESTING).map(|wait| Hint { wait, source: "body" })
}

fn wait(body: &Value, now: Epoch, depth: u8) -> Option<Delay> {
    let error = body.get("error").unwrap_or(body);
    google(error)
        .or_else(|| metadata(error.get("metadata")?, now))
        .or_else(|| decimal(body.get("estimated_time")?))
        .or_else(|| text(error.as_str().or_else(|| error.get("message")?.as_str())?, now, depth))
}

/// google.rpc.RetryInfo, and the same in the metadata of google.rpc.ErrorInfo.
fn google(error: &Value) -> Option<Delay> {
    let details = error.get("details")?.as_array()?;
    let retry_info = details.iter().find_map(|detail| protobuf_duration(detail.get("retryDelay")?.as_str()?));
    retry_info.or_else(|| {
        details.iter().find_map(|detail| number::go_duration(detail.pointer("/metadata/quotaResetDelay")?.as_str()?))
    })
}

/// The JSON form of google.protobuf.Duration, `34.074824224s`: one to nine digits behind the point, always seconds.
fn protobuf_duration(text: &str) -> Option<Delay> {
    let seconds = text.strip_suffix('s')?;
    let fraction = seconds.split_once('.').map_or("0", |(_, fraction)| fraction);
    number::seconds(seconds).filter(|_| fraction.len() <= 9)
}

/// A gateway that repeats what its provider said.
fn metadata(metadata: &Value, now: Epoch) -> Option<Delay> {
    let said = metadata.get("retry_after_seconds").and_then(decimal);
    said.or_else(|| Hints::of_headers(&headers(metadata.get("headers")?.as_object()?), now).wait.map(|hint| hint.wait))
}

fn headers(members: &Map<String, Value>) -> Headers {
    members.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect()
}

/// A message in words; some hold the provider's whole error as JSON.
fn text(message: &str, now: Epoch, depth: u8) -> Option<Delay> {
    let nested = message.trim_start().starts_with('{') && depth > 0;
    let nested = nested.then(|| serde_json::from_str::<Value>(message).ok()).flatten();
    nested.and_then(|body| wait(&body, now, depth - 1)).or_else(|| message::wait(message))
}

/// Seconds as a number or as a text of one.
fn decimal(value: &Value) -> Option<Delay> {
    match value {
        Value::Number(number) => number::seconds(&number.to_string()),
        Value::String(text) => number::seconds(text),
        _ => None,
    }
}

const ERROR: &[u8] = br#""error""#;
/// An error inside a success is short.
const LARGEST_ERROR: usize = 16 * 1024;
/// How often an error may be wrapped in a message of another.
const NESTING: u8 = 1;
