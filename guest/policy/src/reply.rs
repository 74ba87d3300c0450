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
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// All fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Every value under this name, without the white space around it (RFC 9110 §5.5: it is no part of the value).
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim_matches([' ', '\t']))
    }

    /// The first value under this name.
    pub fn first<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }
}

impl<Name: Into<String>, Value: Into<String>> FromIterator<(Name, Value)> for Headers {
    fn from_iter<Fields: IntoIterator<Item = (Name, Value)>>(fields: Fields) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
