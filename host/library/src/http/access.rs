//! The one origin that the guest may reach, and the key for it. The key stays on this side.

use std::fmt;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{Response, Uri};

use super::redaction;
use super::secret::Secret;
use super::sender::Body;
use crate::error::Error;

/// What the guest may reach, and with which key.
#[derive(Clone)]
pub struct Access {
    origin: Origin,
    secret: Option<Arc<Secret>>,
    /// The header that carries the key.
    authorization: Option<(HeaderName, HeaderValue)>,
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
    /// If the base URL has no scheme or host, or a name and password in it, or if the key cannot be sent in a header.
    pub fn new(base_url: &str, key: Option<String>) -> Result<Self, Error> {
        Self::with(base_url, key, AUTHORIZATION, "Bearer ")
    }

    /// The same with the key as it is in a header of this name, such as Azure's `api-key`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and if that is no name of a header.
    pub fn with_key_header(base_url: &str, key: Option<String>, name: &str) -> Result<Self, Error> {
        let name = HeaderName::try_from(name).map_err(|_| Error::Key)?;
        let prefix = if name == AUTHORIZATION { "Bearer " } else { "" };
        Self::with(base_url, key, name, prefix)
    }

    fn with(base_url: &str, key: Option<String>, name: HeaderName, prefix: &str) -> Result<Self, Error> {
        // What stands before an @ may be a password, and is not repeated.
        let wrong = || Error::BaseUrl(base_url.rsplit_once('@').map_or(base_url, |(_, after)| after).into());
        let uri = base_url.parse::<Uri>().map_err(|_| wrong())?;
        if has_credentials(&uri) {
            return Err(Error::Credentials);
        }
        let key = key.filter(|key| !key.trim().is_empty());
        let key = key.as_deref().map(str::trim);
        let authorization = key.map(|key| HeaderValue::try_from(format!("{prefix}{key}")));
        let mut authorization = authorization.transpose().map_err(|_| Error::Key)?;
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        let secret = key.and_then(Secret::new).map(Arc::new);
        let authorization = authorization.map(|value| (name, value));
        Ok(Self { origin: Origin::of(&uri).ok_or_else(wrong)?, secret, authorization })
    }

    /// Whether the guest may send a request there. Not as somebody else: a name and password in the URL would become a
    /// header.
    pub(super) fn allows(&self, uri: &Uri) -> bool {
        !has_credentials(uri) && Origin::of(uri).as_ref() == Some(&self.origin)
    }

    /// The answer with an asterisk for every byte of the key, in whatever form the endpoint should have repeated it. Words
    /// that stand for no key, such as `none`, are no secrets: answers have them too.
    #[must_use]
    pub fn redacted(&self, answer: Response<Body>) -> Response<Body> {
        match &self.secret {
            Some(secret) => redaction::redacted(answer, secret),
            None => answer,
        }
    }

    /// Adds the key to a request that is allowed.
    pub(super) fn authorize(&self, headers: &mut HeaderMap) {
        if let Some((name, value)) = &self.authorization {
            headers.insert(name, value.clone());
        }
    }
}

fn has_credentials(uri: &Uri) -> bool {
    uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
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
