//! Reads what the endpoint complains about. Providers agree on little: `error` comes as object, string or list, with
//! string or numeric codes, or is missing around its members.

use alloc::string::{String, ToString};

use serde_json::Value;

/// The parts of an error body that decide something or are worth showing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// `error.code`, a number as its digits.
    pub(crate) code: String,
    /// `error.type`.
    pub(crate) kind: String,
    /// `error.message`, at most 300 characters.
    pub(crate) message: String,
}

impl Complaint {
    /// Reads a body; what is not there is empty.
    pub(crate) fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return Self::default() };
        let value = value.get(0).unwrap_or(&value);
        match value.get("error").unwrap_or(value) {
            Value::String(message) => Self { message: shortened(message), ..Self::default() },
            error => Self { code: text(error, "code"), kind: text(error, "type"), message: text(error, "message") },
        }
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

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

const LONGEST: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_error_is_read() {
        for body in [
            r#"{"error":{"message":"m","code":"c"}}"#,
            r#"[{"error":{"message":"m","code":"c"}}]"#,
            r#"{"message":"m","code":"c"}"#,
        ] {
            let complaint = Complaint::read(body.as_bytes());
            assert_eq!((complaint.message.as_str(), complaint.code.as_str()), ("m", "c"), "{body}");
        }
        assert_eq!(Complaint::read(br#"{"error":"m"}"#).message, "m");
        assert_eq!(Complaint::read(br#"{"error":{"code":429}}"#).code, "429");
        assert_eq!(Complaint::read(b"<html>"), Complaint::default());
    }
}
