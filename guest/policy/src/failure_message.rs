//! What a failure tells people: what the endpoint said, and what to change.

use alloc::format;
use alloc::string::{String, ToString};

use crate::cdn::{self, Cdn};
use crate::error_body::ErrorBody;
use crate::outcome::{Failure, FailureKind};
use crate::reply::Reply;
use crate::settings::About;

/// A failure with its message: status, error, advice.
pub(crate) fn failure(reply: &Reply, error: &ErrorBody, kind: FailureKind, about: &About) -> Failure {
    let mut message = format!("HTTP {}", reply.status);
    for part in [error.message.clone(), advice(reply, error, kind, about)] {
        if !part.is_empty() {
            message.push_str(": ");
            message.push_str(&part);
        }
    }
    Failure {
        kind,
        message,
        status: Some(reply.status),
        request_id: reply.headers.first("x-request-id").map(String::from),
        body: (!reply.body.is_empty()).then(|| String::from_utf8_lossy(&reply.body).into_owned()),
    }
}

fn advice(reply: &Reply, error: &ErrorBody, kind: FailureKind, about: &About) -> String {
    match (kind, reply.status) {
        (FailureKind::OutOfCredit, _) => {
            "no credit or quota is left; top up, wait for the quota's reset, or use another key".to_string()
        }
        _ if cdn::said(reply) == Some(Cdn::Blocked) => {
            "a CDN in front of the endpoint blocks this client or network, not the key; ask the endpoint's operator"
                .to_string()
        }
        (FailureKind::Unauthorised, 403) => {
            "the key is not allowed to do this; check its project and permissions".to_string()
        }
        (FailureKind::Unauthorised, _) => "the key is missing or wrong; set OPENAI_API_KEY".to_string(),
        (FailureKind::NotFound, _) => not_found(error, about),
        (FailureKind::TooLarge, _) if error.names(&["context_length_exceeded"]) => {
            "the document does not fit the model's context; split it, or lower max-tokens".to_string()
        }
        (FailureKind::TooLarge, _) => "the document is too large for this endpoint; split it".to_string(),
        (_, 300..=399) => match reply.headers.first("location") {
            Some(location) => format!("the endpoint redirects to {location}; set the base URL to where it points"),
            None => "the endpoint redirects elsewhere; set the base URL to where it points".to_string(),
        },
        (_, 407) => "the proxy wants credentials; put them into the proxy's URL".to_string(),
        (_, 415) => "the endpoint does not take application/json here; check the base URL".to_string(),
        _ if error.names(&["content_filter"]) => {
            "the endpoint's content filter does not let this document through".to_string()
        }
        _ => String::new(),
    }
}

/// The model, if the endpoint names it or its code does; else the path.
fn not_found(error: &ErrorBody, about: &About) -> String {
    let About { url, model } = about;
    let says_model = error.message.to_ascii_lowercase().contains("model");
    if error.names(&MODEL) || says_model {
        let name = if model.is_empty() { "the requested model".to_string() } else { format!("model {model}") };
        return format!(
            "the endpoint does not know {name}; some hosts want an organisation prefix such as meta-llama/…"
        );
    }
    if url.contains("/v1/v1/") {
        return format!("{url} has /v1 twice; take it off the base URL once");
    }
    let url = if url.is_empty() { "this path".to_string() } else { url.clone() };
    format!(
        "there is nothing at {url}; check the base URL (with or without /v1) and the model's name (some hosts want an organisation prefix such as meta-llama/…)"
    )
}

/// Codes for a model that does not exist.
pub(crate) const MODEL: [&str; 2] = ["model_not_found", "model_not_exist"];

#[cfg(test)]
mod tests {
    use super::*;

    fn says(status: u16, kind: FailureKind, body: &str, url: &str) -> String {
        let about = About { url: url.into(), model: "llama-3".into() };
        let reply = Reply { status, body: body.into(), ..Reply::default() };
        failure(&reply, &ErrorBody::read(body.as_bytes()), kind, &about).message
    }

    #[test]
    fn a_model_that_is_not_there_is_told_from_a_path() {
        let by_code = says(404, FailureKind::NotFound, r#"{"error":{"code":"model_not_found"}}"#, "");
        assert_eq!(
            by_code,
            "HTTP 404: the endpoint does not know model llama-3; some hosts want an organisation prefix such as meta-llama/…"
        );
        let by_words = says(404, FailureKind::NotFound, r#"{"error":"The model `llama-3` does not exist"}"#, "");
        assert!(by_words.contains("does not know model llama-3"), "{by_words}");
        let path = says(404, FailureKind::NotFound, r#"{"detail":"Not Found"}"#, "http://x/chat/completions");
        assert!(
            path.starts_with("HTTP 404: Not Found: there is nothing at http://x/chat/completions; check"),
            "{path}"
        );
    }

    #[test]
    fn a_base_url_that_says_v1_twice_is_named() {
        let message = says(404, FailureKind::NotFound, "", "http://x/v1/v1/chat/completions");
        assert_eq!(message, "HTTP 404: http://x/v1/v1/chat/completions has /v1 twice; take it off the base URL once");
    }

    #[test]
    fn a_redirect_says_where_to() {
        let headers = [("Location", "https://x/v1")].into_iter().collect();
        let reply = Reply { status: 308, headers, ..Reply::default() };
        let failure = failure(&reply, &ErrorBody::default(), FailureKind::Rejected, &About::default());
        assert!(failure.message.contains("redirects to https://x/v1;"), "{}", failure.message);
    }
}
