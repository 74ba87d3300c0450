//! A document per line: `{"id", "text"}`, or a request in OpenAI Batch form `{"custom_id", "method", "url", "body"}`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::row::{MOST_BYTES, Placed, Row, too_large};
use super::surrogates;
use super::text::BYTE_ORDER_MARK;
use crate::contract::Document;

/// The documents, each with its line. Lines end at LF (a CR before it goes too); blank ones are passed over.
pub(super) fn read(name: &str, mut file: impl BufRead) -> impl Iterator<Item = io::Result<Placed>> {
    let (mut line, mut is_over) = (0, false);
    let mut bytes = vec![];
    std::iter::from_fn(move || {
        while !is_over {
            line += 1;
            match read_line(&mut file, &mut bytes) {
                Err(error) => {
                    is_over = true;
                    return Some(Err(error));
                }
                Ok(0) => return None,
                Ok(length) if length > MOST_BYTES => {
                    return Some(Ok(Placed::new(name, line, Err((None, too_large())))));
                }
                Ok(_) => {}
            }
            let text = if line == 1 { bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes) } else { &bytes };
            let start = bytes.len() - text.len();
            if !text.trim_ascii().is_empty() {
                let is_mended = surrogates::mend(&mut bytes[start..]);
                let row = row(bytes[start..].trim_ascii());
                return Some(Ok(Placed { is_mended, ..Placed::new(name, line, row) }));
            }
        }
        None
    })
}

/// Reads a line, of one that is too long only its beginning; how long it is, at least.
fn read_line(file: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<usize> {
    bytes.clear();
    let length = file.take(MOST_BYTES as u64 + 1).read_until(b'\n', bytes)?;
    if length > MOST_BYTES && !bytes.ends_with(b"\n") {
        file.skip_until(b'\n')?;
    }
    Ok(length)
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    text: Option<Value>,
    #[serde(borrow)]
    custom_id: Option<&'a RawValue>,
    method: Option<String>,
    url: Option<String>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// The document; else its id, if that can be read, and what is wrong.
fn row(line: &[u8]) -> Result<Row, (Option<String>, String)> {
    let Ok(line) = str::from_utf8(line) else {
        return Err((readable_id(line), "it is not UTF-8".into()));
    };
    if !line.starts_with('{') {
        return Err((None, "it is no JSON object".into()));
    }
    let line = serde_json::from_str::<Line>(line).map_err(|error| {
        // The column is worth having, the line is always the first.
        (readable_id(line.as_bytes()), error.to_string().replace(" at line 1", " at"))
    })?;
    let known =
        |id: &RawValue, field: &str| name(id).ok_or_else(|| (None, format!("{field:?} is neither text nor number")));
    match line {
        Line { custom_id: Some(id), body: Some(body), method, url, .. } => {
            let id = known(id, "custom_id")?;
            match is_completion(method.as_deref(), url.as_deref()) {
                true if asks_for_stream(body.get()) => Err((Some(id), STREAM.into())),
                true => Ok(Document::request(id, body.get()).into()),
                false => Err((Some(id), "only POST …/chat/completions can be sent".into())),
            }
        }
        Line { custom_id: Some(id), .. } => Err((name(id), "\"body\" is missing beside \"custom_id\"".into())),
        Line { id: Some(id), text, .. } => match (known(id, "id")?, text) {
            (id, Some(Value::String(text))) => Row::text(id, text),
            (id, Some(_)) => Err((Some(id), "\"text\" is no text".into())),
            (id, None) => Err((Some(id), "\"text\" is missing beside \"id\"".into())),
        },
        _ => Err((None, "neither \"id\" and \"text\" nor \"custom_id\" and \"body\"".into())),
    }
}

/// Ids are texts; numbers are taken as they are written.
fn name(id: &RawValue) -> Option<String> {
    match id.get().as_bytes() {
        [b'"', ..] => serde_json::from_str(id.get()).ok(),
        [b'-' | b'0'..=b'9', ..] => Some(id.get().into()),
        _ => None,
    }
}

/// The id of a line that has other faults.
fn readable_id(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let line = serde_json::from_str::<BTreeMap<&str, &RawValue>>(&line).ok()?;
    ["custom_id", "id"].iter().find_map(|field| name(line.get(field)?))
}

fn is_completion(method: Option<&str>, url: Option<&str>) -> bool {
    method.is_none_or(|method| method == "POST") && url.is_none_or(|url| url.ends_with("/chat/completions"))
}

/// Whether the answer would come in pieces, which no line of results can be.
fn asks_for_stream(body: &str) -> bool {
    #[derive(Deserialize)]
    struct Asked {
        stream: Option<bool>,
    }
    let may_ask = memchr::memmem::find(body.as_bytes(), b"\"stream\"").is_some();
    may_ask && serde_json::from_str::<Asked>(body).is_ok_and(|asked| asked.stream == Some(true))
}

const STREAM: &str = "it asks for a stream; take \"stream\": true out of its body";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Unusable;

    fn all(text: impl AsRef<[u8]>) -> Vec<Result<String, (String, String)>> {
        let rows = read("in.jsonl", text.as_ref());
        rows.map(|placed| match placed.unwrap().row {
            Row::Document(document) => Ok(document.id),
            Row::Unusable(Unusable { id, message }) => Err((id, message)),
        })
        .collect()
    }

    fn unusable(id: &str, message: &str) -> Result<String, (String, String)> {
        Err((id.into(), message.into()))
    }

    #[test]
    fn both_forms_are_read_and_blank_lines_are_not() {
        let text = "\u{feff}{\"id\":\"a\",\"text\":\"1\u{2028}2\u{85}3\\u0000\"}\r\n\n{\"id\":7,\"text\":\"t\"}\n\
            {\"custom_id\":\"b\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{}}";
        assert_eq!(all(text), [Ok("a".into()), Ok("7".into()), Ok("b".into())]);
        let long = "12345678901234567890123";
        assert_eq!(all(format!("{{\"custom_id\":{long},\"body\":{{}}}}")), [Ok(long.into())]);
    }

    #[test]
    fn a_line_that_cannot_be_used_is_named_and_the_next_one_is_read() {
        assert_eq!(
            all("{\"id\":\"a\"\n{\"id\":\"b\"}\n{\"id\":\"c\",\"text\":\" \"}\n[]\n{\"id\":\"d\",\"text\":\"t\"}")[..],
            [
                unusable("in.jsonl:1", "in.jsonl, line 1: EOF while parsing an object at column 9"),
                unusable("b", "in.jsonl, line 2: \"text\" is missing beside \"id\""),
                unusable("c", "in.jsonl, line 3: the document is empty; nothing was sent"),
                unusable("in.jsonl:4", "in.jsonl, line 4: it is no JSON object"),
                Ok("d".into()),
            ]
        );
        assert_eq!(
            all(b"{\"id\":\"a\",\"text\":\"caf\xe9\"}\n{\"id\":\"b\",\"text\":\"t\"}"),
            [unusable("a", "in.jsonl, line 1: it is not UTF-8"), Ok("b".into())]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_not_kept() {
        let long = [b"{\"id\":\"a\",\"text\":\"".as_slice(), &vec![b'x'; MOST_BYTES], b"\"}\n"].concat();
        let text = [long, b"{\"id\":\"b\",\"text\":\"t\"}".to_vec()].concat();
        assert_eq!(
            all(text),
            [unusable("in.jsonl:1", "in.jsonl, line 1: it is larger than 64 MiB; nothing was sent"), Ok("b".into())]
        );
    }
}
