//! Reads a chat completion from the body of a success. A success that is no completion is a fault, not an answer.

mod lenient;
mod stream;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use crate::outcome::{Answer, Usage};
use crate::reply::Reply;

/// The completion in a reply, or why there is none.
pub(crate) fn read(reply: &Reply) -> Result<Answer, &'static str> {
    let body = str::from_utf8(&reply.body).map_err(|_| "the body is not UTF-8")?;
    let value = json(body.trim_start_matches('\u{feff}'))?;
    if value.get("error").is_some_and(is_error) {
        return Err("the endpoint reports an error");
    }
    let choice =
        value.get("choices").and_then(|choices| choices.get(0)).ok_or("the body is JSON but no chat completion")?;
    if choice.get("error").is_some_and(is_error) {
        return Err("the endpoint reports an error");
    }
    let message = choice.get("message").filter(|message| message.is_object()).ok_or("the choice has no message")?;
    let text = text(message);
    let finish_reason = choice.get("finish_reason").and_then(Value::as_str).map(String::from);
    if finish_reason.as_deref().is_some_and(|reason| !is_success(reason)) {
        return Err("the endpoint broke off the completion");
    }
    let note = note(message, text.as_deref(), finish_reason.as_deref());
    if text.as_deref().is_none_or(|text| text.trim().is_empty()) && note.is_none() {
        return Err("the completion has no text");
    }
    Ok(Answer {
        text,
        finish_reason,
        note,
        usage: usage(&value),
        status: reply.status,
        request_id: reply.headers.first("x-request-id").map(String::from),
        body: body.into(),
    })
}

/// The JSON of a success, however it was sent.
pub(crate) fn value(body: &[u8]) -> Option<Value> {
    json(str::from_utf8(body).ok()?.trim_start_matches('\u{feff}')).ok()
}

/// Some endpoints send `"error": null` with every answer.
fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}

/// Whether a completion that ended so is what was asked for, or all that there will be of it. Any other reason is the
/// endpoint's own trouble (`error`, `abort`, `network_error`, `insufficient_system_resource`), and the text is half.
fn is_success(finish_reason: &str) -> bool {
    finish_reason.is_empty() || SUCCESSES.iter().any(|success| finish_reason.eq_ignore_ascii_case(success))
}

/// The one JSON value of a body; some servers end even that with the mark of a stream, and some stream unasked.
fn json(body: &str) -> Result<Value, &'static str> {
    let body = body.trim();
    if body.is_empty() {
        return Err("the body is empty");
    }
    if body.starts_with('<') {
        return Err("the body is a page, not JSON; check the base URL");
    }
    if stream::is_stream(body) {
        return stream::put_together(body).ok_or("the endpoint streams its answer, and the stream breaks off");
    }
    let body = body.strip_suffix(END_OF_STREAM).unwrap_or(body);
    let read = serde_json::from_str(body);
    let read =
        read.or_else(|error| if error.is_eof() { Err(error) } else { serde_json::from_str(&lenient::mended(body)) });
    read.map_err(|error| match error.is_eof() {
        true => "the body is cut off",
        false => "the body is not JSON",
    })
}

/// `content` as string, or as a list of parts of which those of text count.
fn text(message: &Value) -> Option<String> {
    match message.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()),
        _ => None,
    }
}

/// Why the text is missing or not whole; each makes the answer usable as it stands, so it is not sent again.
fn note(message: &Value, text: Option<&str>, finish_reason: Option<&str>) -> Option<String> {
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|refusal| !refusal.is_empty());
    let calls = message.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
    let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|name| message.get(*name)?.as_str());
    let is_empty = text.is_none_or(|text| text.trim().is_empty());
    let only_reasoning = is_empty && reasoning.is_some_and(|reasoning| !reasoning.is_empty());
    match (refusal, finish_reason) {
        (Some(refusal), _) => Some(format!("the model declined: {refusal}")),
        (_, Some("content_filter")) => Some("the endpoint's content filter cut the answer".to_string()),
        (_, Some("length")) if only_reasoning => {
            Some("max_tokens was used up by reasoning before any text came; raise it".to_string())
        }
        (_, Some("length")) if is_empty => Some("max_tokens was used up before any text came; raise it".to_string()),
        (_, Some("length")) => Some("cut off at max_tokens".to_string()),
        _ if is_empty && calls > 0 => Some(format!("no text, but {calls} tool call(s)")),
        _ if only_reasoning => Some("only reasoning, no text".to_string()),
        _ => None,
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let usage = value.get("usage")?;
    let tokens = |name| usage.get(name).and_then(count);
    Some(Usage { prompt_tokens: tokens("prompt_tokens")?, completion_tokens: tokens("completion_tokens")? })
}

/// A count, which some write as `5.0`; one that is too large is as good as endless.
fn count(value: &Value) -> Option<u64> {
    // `as` saturates.
    let whole = |number: f64| Some(number as u64).filter(|count| *count == u64::MAX || *count as f64 == number);
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

/// As OpenAI, Azure, Anthropic, Gemini, Mistral, Cohere, Zhipu, vLLM and TGI say it.
const SUCCESSES: [&str; 24] = [
    "stop",
    "length",
    "content_filter",
    "tool_calls",
    "function_call",
    "tool_use",
    "tool_call",
    "end_turn",
    "stop_sequence",
    "max_tokens",
    "max_output_tokens",
    "max_length",
    "model_length",
    "model_context_window_exceeded",
    "pause_turn",
    "eos",
    "eos_token",
    "complete",
    "completed",
    "done",
    "refusal",
    "safety",
    "recitation",
    "sensitive",
];
const END_OF_STREAM: &str = "data: [DONE]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_completion_is_none() {
        for rest in [
            r#""finish_reason":"error"}]"#,
            r#""finish_reason":"insufficient_system_resource"}]"#,
            r#""finish_reason":"stop","error":{"code":502}}]"#,
            r#""finish_reason":"stop"}],"error":{"message":"idle timeout"}"#,
        ] {
            let body = format!(r#"{{"choices":[{{"message":{{"content":"hal"}},{rest}}}"#);
            assert!(of(&body).is_err(), "{body}");
        }
        for rest in [r#""finish_reason":"STOP"}],"error":null"#, r#""finish_reason":null}]"#, r#""finish_reason":""}]"#]
        {
            let body = format!(r#"{{"choices":[{{"message":{{"content":"whole"}},{rest}}}"#);
            assert!(of(&body).is_ok(), "{body}");
        }
    }

    #[test]
    fn counts_may_be_fractions_in_form_and_of_any_size() {
        let of = |tokens: &str| {
            let usage = format!(r#"{{"prompt_tokens":{tokens},"completion_tokens":1}}"#);
            of(&format!(r#"{{"choices":[{{"message":{{"content":"ok"}}}}],"usage":{usage}}}"#)).unwrap().usage
        };
        assert_eq!(of("5.0").map(|usage| usage.prompt_tokens), Some(5));
        assert_eq!(of("18446744073709551615").map(|usage| usage.prompt_tokens), Some(u64::MAX));
        assert_eq!(of("1e300").map(|usage| usage.prompt_tokens), Some(u64::MAX));
        assert_eq!(of("5.5"), None);
    }

    fn of(body: &str) -> Result<Answer, &'static str> {
        read(&Reply { status: 200, body: body.into(), ..Reply::default() })
    }

    #[test]
    fn text_and_usage_are_taken_out() {
        let answer = of(r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],
            "usage":{"prompt_tokens":5,"completion_tokens":1}}"#);
        let answer = answer.unwrap();
        assert_eq!(answer.text.as_deref(), Some("ok"));
        assert_eq!(answer.usage, Some(Usage { prompt_tokens: 5, completion_tokens: 1 }));
        assert_eq!(answer.note, None);
    }

    #[test]
    fn parts_are_joined_and_blank_lines_before_the_json_do_no_harm() {
        let answer = of("\n\n{\"choices\":[{\"message\":{\"content\":[{\"text\":\"o\"},{\"text\":\"k\"}]}}]}");
        assert_eq!(answer.unwrap().text.as_deref(), Some("ok"));
    }

    #[test]
    fn an_answer_without_text_says_why() {
        for (message, finish_reason, note) in [
            (r#""refusal":"no""#, "stop", "the model declined: no"),
            (r#""tool_calls":[{}]"#, "tool_calls", "no text, but 1 tool call(s)"),
            (r#""reasoning_content":"hm""#, "stop", "only reasoning, no text"),
            (r#""reasoning":"hm""#, "length", "max_tokens was used up by reasoning before any text came; raise it"),
            (r#""role":"assistant""#, "length", "max_tokens was used up before any text came; raise it"),
            (r#""role":"assistant""#, "content_filter", "the endpoint's content filter cut the answer"),
        ] {
            let body = format!(
                r#"{{"choices":[{{"message":{{"content":null,{message}}},"finish_reason":"{finish_reason}"}}]}}"#
            );
            assert_eq!(of(&body).unwrap().note.as_deref(), Some(note));
        }
    }

    #[test]
    fn usage_that_is_not_whole_is_unknown() {
        for usage in ["null", "{}", r#"{"prompt_tokens":5}"#, r#"{"prompt_tokens":-5,"completion_tokens":1}"#] {
            let body = format!(r#"{{"choices":[{{"message":{{"content":"ok"}}}}],"usage":{usage}}}"#);
            assert_eq!(of(&body).unwrap().usage, None, "{usage}");
        }
    }

    #[test]
    fn the_mark_of_a_stream_may_follow() {
        let body = "{\"choices\":[{\"message\":{\"content\":\"ok\"}}]}\n\ndata: [DONE]\n\n";
        assert_eq!(of(body).unwrap().text.as_deref(), Some("ok"));
        assert!(of(&format!("{body}data: [DONE]")).is_err(), "once");
    }

    #[test]
    fn what_is_no_completion_is_named() {
        assert_eq!(of(""), Err("the body is empty"));
        assert_eq!(of(" \n"), Err("the body is empty"));
        assert_eq!(of("{\"choices\":[{\"mess"), Err("the body is cut off"));
        assert_eq!(of("{\"choices\" 3}"), Err("the body is not JSON"));
        assert_eq!(of("<!DOCTYPE html>"), Err("the body is a page, not JSON; check the base URL"));
        assert_eq!(of("data: {\"choices\":[]}\n\n"), Err("the endpoint streams its answer, and the stream breaks off"));
        assert_eq!(of("{\"object\":\"list\"}"), Err("the body is JSON but no chat completion"));
        assert_eq!(of(r#"{"choices":[{"message":{"content":" "}}]}"#), Err("the completion has no text"));
    }
}
