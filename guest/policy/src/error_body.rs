//! Reads what the endpoint complains about. Providers agree on little: `error` comes as object, string or list, with
//! string or numeric codes, or is missing around its members; proxies send pages.

use alloc::string::{String, ToString};

use serde_json::Value;

/// The parts of an error body that decide something or are worth showing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorBody {
    /// `error.code`, a number as its digits.
    pub(crate) code: String,
    /// `error.type`.
    pub(crate) kind: String,
    /// `error.message`, at most 300 characters.
    pub(crate) message: String,
    /// Whether a quota per day is used up (google.rpc.QuotaFailure).
    pub(crate) is_daily: bool,
}

impl ErrorBody {
    /// Reads a body; what is not there is empty.
    pub(crate) fn read(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of(&value),
            Err(_) => Self::in_words(body),
        }
    }

    /// The same of an answer that was to be a success: its error may be that of a choice.
    pub(crate) fn of(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let of_choice = || value.get("choices")?.get(0)?.get("error");
        let error = value.get("error").filter(|error| !error.is_null()).or_else(of_choice);
        let error = error.map_or(value, |error| error.get(0).unwrap_or(error));
        Self {
            code: text(error, "code"),
            kind: text(error, "type"),
            message: message(error).or_else(|| message(value)).unwrap_or_default(),
            is_daily: is_daily(error),
        }
    }

    /// A page or a plain text, as proxies send them.
    fn in_words(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = match text.trim_start().starts_with('<') {
            true => title(&text).unwrap_or_default(),
            false => text.trim(),
        };
        // JSON that was cut off says nothing to people.
        let message = if text.starts_with(['{', '[']) { String::new() } else { shortened(text) };
        Self { message, ..Self::default() }
    }

    /// The HTTP status that an error inside a success stands for, where its code is one.
    pub(crate) fn status(&self) -> Option<u16> {
        self.code.parse().ok().filter(|code| (400..600).contains(code))
    }

    /// Whether it says that one request asks for more than a whole window has: "Limit 30000, Requested 45000".
    pub(crate) fn asks_too_much(&self) -> bool {
        let amount = |name| number_after(&self.message, name);
        amount("Limit ").zip(amount("Requested ")).is_some_and(|(limit, requested)| requested > limit)
    }

    /// Whether it says that nothing is ever let through: "limit: 0", as Gemini does where a model is not in the plan.
    pub(crate) fn allows_nothing(&self) -> bool {
        self.message.match_indices("limit: ").any(|(at, name)| number_after(&self.message[at..], name) == Some(0))
    }

    /// Whether its message has one of these words, in any case.
    pub(crate) fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    /// Whether it says that too many requests are on the wire, rather than too many per time.
    pub(crate) fn names_concurrency(&self) -> bool {
        [&self.code, &self.kind, &self.message].iter().any(|text| text.to_ascii_lowercase().contains("concurren"))
    }

    /// Whether nothing is said of what is not there: no code, no type, no word of a model.
    pub(crate) fn is_bare(&self) -> bool {
        self.code.is_empty() && self.kind.is_empty() && !self.says(&["model"])
    }

    /// Whether code or type is one of these.
    pub(crate) fn names(&self, codes: &[&str]) -> bool {
        codes.iter().any(|code| self.code == *code || self.kind == *code)
    }
}

fn text(error: &Value, name: &str) -> String {
    match error.get(name) {
        Some(Value::String(text)) => shortened(text),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// `message`, or what other servers call it: a string as error, `detail` of FastAPI, `msg`.
fn message(error: &Value) -> Option<String> {
    let named = |name| error.get(name).filter(|value| !value.is_null());
    let found = named("message").or_else(|| named("detail")).or_else(|| named("msg")).or_else(|| named("error"));
    match found.unwrap_or(error) {
        Value::String(text) => Some(shortened(text)),
        Value::Array(list) => list.first().and_then(message),
        object if found.is_some() => message(object),
        _ => None,
    }
}

fn title(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("<title>")?;
    rest.split_once("</title>").map(|(title, _)| title.trim())
}

fn is_daily(error: &Value) -> bool {
    let violations = |detail: &Value| detail.get("violations").and_then(Value::as_array).cloned().unwrap_or_default();
    let details = error.get("details").and_then(Value::as_array);
    let mut quotas = details.into_iter().flatten().flat_map(violations);
    quotas.any(|violation| violation.get("quotaId").and_then(Value::as_str).is_some_and(|id| id.contains("PerDay")))
}

fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = &text[text.find(name)? + name.len()..];
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    // A fraction is another number.
    let is_whole = !rest[end..].starts_with('.') || !rest[end + 1..].starts_with(|c: char| c.is_ascii_digit());
    rest[..end].parse().ok().filter(|_| is_whole)
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

const LONGEST: usize = 300;

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn every_shape_of_error_is_read() {
        for body in [
            r#"{"error":{"message":"m","code":"c"}}"#,
            r#"[{"error":{"message":"m","code":"c"}}]"#,
            r#"{"message":"m","code":"c"}"#,
        ] {
            let error = ErrorBody::read(body.as_bytes());
            assert_eq!((error.message.as_str(), error.code.as_str()), ("m", "c"), "{body}");
        }
        for body in [r#"{"error":"m"}"#, r#"{"error":[{"message":"m"}]}"#, r#"{"detail":"m"}"#, "m", "<title>m</title>"]
        {
            assert_eq!(ErrorBody::read(body.as_bytes()).message, "m", "{body}");
        }
        assert_eq!(ErrorBody::read(br#"{"detail":[{"loc":["body"],"msg":"m"}]}"#).message, "m");
        assert_eq!(ErrorBody::read(br#"{"error":{"code":429}}"#).code, "429");
        for silent in ["<html>", "", "{\"error\":", "{\"error\":null}", "[]", "3"] {
            assert_eq!(ErrorBody::read(silent.as_bytes()).code, "", "{silent}");
        }
    }

    #[test]
    fn a_request_larger_than_the_limit_is_told_from_one_that_has_to_wait() {
        let says = |message: &str| ErrorBody { message: message.into(), ..ErrorBody::default() }.asks_too_much();
        assert!(says("Request too large on tokens per min (TPM): Limit 30000, Requested 45000."));
        assert!(!says("Limit 200000, Used 152566, Requested 60651. Please try again in 3.965s."));
        assert!(!says("Rate limit reached"));
    }

    #[test]
    fn a_quota_per_day_is_told_from_one_per_minute() {
        let body = |id| format!(r#"{{"error":{{"details":[{{"violations":[{{"quotaId":"{id}"}}]}}]}}}}"#);
        assert!(ErrorBody::read(body("GenerateRequestsPerDayPerProject").as_bytes()).is_daily);
        assert!(!ErrorBody::read(body("GenerateRequestsPerMinutePerProject").as_bytes()).is_daily);
    }
}
