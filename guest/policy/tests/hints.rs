//! Hints as data: what stands in tests/data/hints.jsonl under `policy` is what is read. One value or field a line, retold
//! from faults that clients had in public.

use std::fs;

use becalm_policy::{Delay, Epoch, Headers, Hints, Reply, Settings};
use serde_json::{Value, json};

/// 2026-11-30T12:00:00Z, the `now` of every line.
const NOW: Epoch = Epoch::from_ms(1_796_040_000_000);

#[test]
fn every_vector_holds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hints.jsonl");
    let vectors = fs::read_to_string(path).unwrap();
    let wrong =
        vectors.lines().filter_map(|line| check(&serde_json::from_str(line).unwrap()).err()).collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(vectors.lines().count(), 71);
}

fn check(vector: &Value) -> Result<(), String> {
    let reply = reply(vector["group"].as_str().unwrap(), &vector["input"]);
    let wait = Hints::read(&reply, NOW).wait.map(|hint| hint.wait);
    let is_right = match &vector["policy"] {
        Value::String(word) if word == "ignored" => wait.is_none(),
        Value::String(word) if word == "over-cap" => wait > Some(Settings::default().patience),
        // Rounded up to the millisecond.
        seconds => wait == Some(Delay::from_ms((seconds.as_f64().unwrap() * 1_000.0 - 1e-6).ceil() as u64)),
    };
    if is_right { Ok(()) } else { Err(format!("{vector}: {wait:?}")) }
}

/// A refusal that says this.
fn reply(group: &str, input: &Value) -> Reply {
    let text = input.as_str().unwrap_or_default();
    let (headers, body) = match group {
        "Retry-After" => (fields("retry-after", input), Value::Null),
        "retry-after-ms" => (fields("retry-after-ms", input), Value::Null),
        "RateLimit (draft -10)" => (fields("ratelimit", input), Value::Null),
        "RateLimit + Retry-After" => {
            let fields = input.as_object().unwrap().iter();
            (fields.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_string())).collect(), Value::Null)
        }
        "message text" => (Headers::default(), json!({"error": {"message": text}})),
        group if group.starts_with("reset") => {
            let reset = fields("x-ratelimit-reset-requests", input);
            let empty = ("x-ratelimit-remaining-requests".to_string(), "0".to_string());
            (reset.iter().map(|(name, value)| (name.into(), value.into())).chain([empty]).collect(), Value::Null)
        }
        group if group.starts_with("RetryInfo") => {
            let detail = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": text});
            (Headers::default(), json!({"error": {"details": [detail]}}))
        }
        group => panic!("no reader for {group}"),
    };
    Reply { status: 429, headers, body: body.to_string().into() }
}

/// A field, or field lines, under a name.
fn fields(name: &str, input: &Value) -> Headers {
    let values = input.as_array().cloned().unwrap_or_else(|| vec![input.clone()]);
    values.iter().map(|value| (name.to_string(), value.as_str().unwrap().to_string())).collect()
}
