//! A document per line: `{"id", "text"}`, or a request in OpenAI Batch form `{"custom_id", "method", "url", "body"}`.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::InputError;
use crate::contract::Document;

/// The documents, each with its line. Lines end at LF (a CR before it goes too); blank ones are passed over.
pub(super) fn read(name: &str, mut file: impl BufRead) -> impl Iterator<Item = Result<(Document, u64), InputError>> {
    let mut line = 0;
    let mut bytes = vec![];
    std::iter::from_fn(move || {
        loop {
            bytes.clear();
            line += 1;
            match file.read_until(b'\n', &mut bytes) {
                Err(source) => return Some(Err(InputError::Unreadable { name: name.into(), source })),
                Ok(0) => return None,
                Ok(_) => {}
            }
            let text = if line == 1 { bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes) } else { &bytes };
            let text = text.trim_ascii();
            if !text.is_empty() {
                let malformed = |message| InputError::Malformed { name: name.into(), line, message };
                let document = document(text).map_err(malformed);
                return Some(document.map(|document| (document, line)));
            }
        }
    })
}

#[derive(Deserialize)]
struct Line<'a> {
    id: Option<Value>,
    text: Option<String>,
    custom_id: Option<String>,
    method: Option<String>,
    url: Option<String>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

fn document(line: &[u8]) -> Result<Document, String> {
    let line = serde_json::from_slice::<Line>(line).map_err(|error| {
        // The column is worth having, the line is always the first.
        error.to_string().replace(" at line 1", " at")
    })?;
    match line {
        Line { custom_id: Some(id), body: Some(body), method, url, .. } => {
            is_completion(method.as_deref(), url.as_deref())?;
            Ok(Document::request(id, body.get()))
        }
        Line { custom_id: Some(_), .. } => Err("\"body\" is missing beside \"custom_id\"".into()),
        Line { id: Some(id), text: Some(text), .. } => Ok(Document::text(name(id)?, text)),
        Line { id: Some(_), .. } => Err("\"text\" is missing beside \"id\"".into()),
        _ => Err("neither \"id\" and \"text\" nor \"custom_id\" and \"body\"".into()),
    }
}

/// Ids are texts; numbers are taken as they are written.
fn name(id: Value) -> Result<String, String> {
    match id {
        Value::String(id) => Ok(id),
        Value::Number(id) => Ok(id.to_string()),
        _ => Err("\"id\" is neither text nor number".into()),
    }
}

fn is_completion(method: Option<&str>, url: Option<&str>) -> Result<(), String> {
    if method.is_some_and(|method| method != "POST") || url.is_some_and(|url| !url.ends_with("/chat/completions")) {
        return Err("only POST …/chat/completions can be sent".into());
    }
    Ok(())
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Result<String, String>> {
        let documents = read("in.jsonl", text.as_bytes());
        documents.map(|document| document.map(|(document, _)| document.id).map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn both_forms_are_read_and_blank_lines_are_not() {
        let text = "\u{feff}{\"id\":\"a\",\"text\":\"1\u{2028}2\"}\r\n\n{\"id\":7,\"text\":\"\"}\n\
            {\"custom_id\":\"b\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{}}";
        assert_eq!(all(text), [Ok("a".into()), Ok("7".into()), Ok("b".into())]);
    }

    #[test]
    fn a_malformed_line_is_named() {
        assert_eq!(
            all("{\"id\":\"a\",\"text\":\"\"}\n{\"id\":\"b\"\n")[1],
            Err("in.jsonl, line 2: EOF while parsing an object at column 9".into())
        );
        assert_eq!(all("{\"id\":\"a\"}"), [Err("in.jsonl, line 1: \"text\" is missing beside \"id\"".into())]);
        assert!(all("[]")[0].is_err());
    }
}
