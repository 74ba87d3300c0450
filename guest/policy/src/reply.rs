//! What came back from the endpoint, before anyone has judged it.

use alloc::string::String;
use alloc::vec::Vec;

/// An HTTP answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// All header fields in their order.
    pub headers: Headers,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Header fields in their order; names are compared without case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    fields: Vec<(String, String)>,
    /// Whether some come from a provider behind a gateway. Mostly none does, and a name is looked for once.
    has_passed_on: bool,
}

impl Headers {
    /// All fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Every value under this name, without the white space around it (RFC 9110 §5.5: it is no part of the value). Where
    /// there is none, those that a gateway passes on from its provider, under a name with a prefix.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_own = move |field: &str| field.eq_ignore_ascii_case(name);
        let is_passed_on = self.has_passed_on && !self.iter().any(|(field, _)| is_own(field));
        self.iter()
            .filter(move |(field, _)| is_own(if is_passed_on { without_prefix(field) } else { field }))
            .map(|(_, value)| value.trim_matches([' ', '\t']))
    }

    /// Whether a name begins so, a gateway's own prefix aside.
    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        let begins = |name: &str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        self.iter().any(|(name, _)| begins(without_prefix(name)))
    }

    /// The first value under this name.
    pub fn first<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }
}

/// LiteLLM's proxy sends `llm_provider-retry-after`.
fn without_prefix(field: &str) -> &str {
    match field.split_at_checked(GATEWAY.len()) {
        Some((prefix, name)) if prefix.eq_ignore_ascii_case(GATEWAY) => name,
        _ => field,
    }
}

const GATEWAY: &str = "llm_provider-";

impl<Name: Into<String>, Value: Into<String>> FromIterator<(Name, Value)> for Headers {
    fn from_iter<Fields: IntoIterator<Item = (Name, Value)>>(fields: Fields) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (name.into(), value.into()));
        let fields = fields.collect::<Vec<(String, String)>>();
        let has_passed_on = fields.iter().any(|(name, _)| without_prefix(name) != name);
        Self { fields, has_passed_on }
    }
}
