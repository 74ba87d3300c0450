//! The one origin that the guest may reach, and the key for it. The key stays on this side.

use std::fmt;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use http::{Response, Uri};

use super::redaction;
use super::sender::Body;
use crate::error::Error;

/// What the guest may reach, and with which key.
#[derive(Clone)]
pub struct Access {
    origin: Origin,
    key: Option<Arc<str>>,
    authorization: Option<HeaderValue>,
}

/// Scheme, host and port: what has to be equal for two URLs to be of one server (RFC 6454 §4).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Access {
    /// Access to the origin of the base URL, and to no other. The key is sent as bearer token; without one, or with an
    /// empty one, no `authorization` is sent.
    ///
    /// # Errors
    ///
    /// If the base URL has no scheme or host, or the key cannot be sent in a header.
    pub fn new(base_url: &str, key: Option<String>) -> Result<Self, Error> {
        let wrong = || Error::BaseUrl(base_url.into());
        let uri = base_url.parse::<Uri>().map_err(|_| wrong())?;
        let key = key.filter(|key| !key.trim().is_empty());
        let key = key.map(|key| Arc::<str>::from(key.trim()));
        let authorization = key.as_ref().map(|key| HeaderValue::try_from(format!("Bearer {key}")));
        let mut authorization = authorization.transpose().map_err(|_| Error::Key)?;
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        Ok(Self { origin: Origin::of(&uri).ok_or_else(wrong)?, key, authorization })
    }

    /// Whether the guest may send a request there. Not as somebody else: a name and password in the URL would become a
    /// header.
    pub(super) fn allows(&self, uri: &Uri) -> bool {
        let has_name = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        !has_name && Origin::of(uri).as_ref() == Some(&self.origin)
    }

    /// The answer with an asterisk for every sign of the key, should the endpoint have repeated it.
    #[must_use]
    pub fn redacted(&self, answer: Response<Body>) -> Response<Body> {
        match &self.key {
            Some(key) => redaction::redacted(answer, key),
            None => answer,
        }
    }

    /// Adds the key to a request that is allowed.
    pub(super) fn authorize(&self, headers: &mut HeaderMap) {
        if let Some(value) = &self.authorization {
            headers.insert(AUTHORIZATION, value.clone());
        }
    }
}

impl Origin {
    fn of(uri: &Uri) -> Option<Self> {
        let scheme = uri.scheme_str()?;
        let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        Some(Self { scheme: scheme.into(), host: uri.host()?.to_ascii_lowercase(), port })
    }
}

/// Without the key.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("origin", &self.origin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_origin_is_allowed_whatever_the_path() {
        let access = Access::new("https://Example.com/v1", None).unwrap();
        for (uri, allowed) in [
            ("https://example.com/v1/chat/completions", true),
            ("https://example.com:443/other", true),
            ("http://example.com/v1", false),
            ("https://example.com:8443/v1", false),
            ("https://example.com.evil.org/v1", false),
            ("https://api.example.com/v1", false),
            ("https://someone:else@example.com/v1", false),
        ] {
            assert_eq!(access.allows(&uri.parse().unwrap()), allowed, "{uri}");
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        let access = Access::new("http://localhost:1", Some("sk-secret".into())).unwrap();
        assert!(!format!("{access:?}").contains("secret"));
    }
}
