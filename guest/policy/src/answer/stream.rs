//! An answer that comes as a stream of server-sent events although none was asked for: its pieces, put together.

use alloc::string::String;

use serde_json::{Value, json};

/// Whether a body is such a stream.
pub(super) fn is_stream(body: &str) -> bool {
    ["data:", "event:", "id:", "retry:", ":"].iter().any(|start| body.starts_with(start))
}

/// The chat completion that the pieces make: what they add to the first choice, the reason for its end, usage and errors.
/// Nothing if there is no piece, or the stream does not come to its end.
pub(super) fn put_together(body: &str) -> Option<Value> {
    let (mut text, mut refusal, mut reasoning) = (String::new(), String::new(), String::new());
    let mut finish_reason = Value::Null;
    let (mut usage, mut error) = (Value::Null, Value::Null);
    let (mut is_piece, mut has_ended) = (false, false);
    for data in body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim) {
        if data == "[DONE]" {
            has_ended = true;
            continue;
        }
        let Ok(piece) = serde_json::from_str::<Value>(data) else { continue };
        keep(&mut usage, piece.get("usage"));
        keep(&mut error, piece.get("error"));
        let Some(choice) = piece.get("choices").and_then(|choices| choices.get(0)) else { continue };
        is_piece = true;
        keep(&mut finish_reason, choice.get("finish_reason"));
        keep(&mut error, choice.get("error"));
        let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) else { continue };
        for (name, whole) in [("content", &mut text), ("refusal", &mut refusal), ("reasoning_content", &mut reasoning)]
        {
            whole.push_str(delta.get(name).and_then(Value::as_str).unwrap_or_default());
        }
    }
    if !error.is_null() {
        return Some(json!({ "error": error }));
    }
    let message = json!({ "content": text, "refusal": refusal, "reasoning_content": reasoning });
    (is_piece && (has_ended || !finish_reason.is_null()))
        .then(|| json!({ "choices": [{ "message": message, "finish_reason": finish_reason }], "usage": usage }))
}

fn keep(kept: &mut Value, piece: Option<&Value>) {
    if let Some(piece) = piece.filter(|piece| !piece.is_null()) {
        *kept = piece.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_a_completion() {
        let whole = put_together(
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"o\"}}]}\n\n\
             data: {\"choices\":[{\"delta\":{\"content\":\"k\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5}}\n\ndata: [DONE]\n",
        );
        let whole = whole.unwrap();
        assert_eq!(whole["choices"][0]["message"]["content"], "ok");
        assert_eq!(whole["choices"][0]["finish_reason"], "stop");
        assert_eq!(whole["usage"]["prompt_tokens"], 5);
    }

    #[test]
    fn a_stream_that_breaks_off_is_no_answer() {
        assert_eq!(put_together("data: {\"choices\":[{\"delta\":{\"content\":\"o\"}}]}\n\n"), None);
        assert_eq!(put_together("data: [DONE]\n\n"), None);
        let failed =
            put_together("data: {\"choices\":[{\"delta\":{\"content\":\"o\"}}]}\n\ndata: {\"error\":{\"code\":502}}\n");
        assert_eq!(failed.unwrap()["error"]["code"], 502);
    }
}
