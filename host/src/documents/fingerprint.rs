//! What tells two documents apart without keeping them: a hash that stays the same from version to version, because it is
//! written into the results.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use xxhash_rust::xxh3::xxh3_128;

use crate::contract::{Document, Input};

/// 128 bits of XXH3: among a million documents two that differ have the same one with a chance of 1 in 10^26.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Of what a document contains, whatever it is called.
    pub fn of(document: &Document) -> Self {
        match &document.input {
            Input::Text(content) | Input::Request(content) => Self(xxh3_128(content.as_bytes())),
        }
    }

    /// 64 bits of it, enough to see that one document changed.
    pub(crate) const fn short(self) -> u64 {
        self.0 as u64
    }
}

/// Of a document's id, in 96 bits: among a million ids two that differ have the same one with a chance of 1 in 10^17.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IdPrint([u8; 12]);

impl IdPrint {
    pub(crate) fn of(id: &str) -> Self {
        let [print @ .., _, _, _, _] = xxh3_128(id.as_bytes()).to_be_bytes();
        Self(print)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<From: Deserializer<'de>>(from: From) -> Result<Self, From::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        u128::from_str_radix(&text, 16).map(Self).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_for_ever() {
        let fingerprint = Fingerprint::of(&Document::text("a", "Text number 1."));
        assert_eq!(fingerprint.to_string(), "3e197b5e6ce944510eaddf1f0486f28a");
        assert_eq!(serde_json::from_str::<Fingerprint>(&format!("\"{fingerprint}\"")).unwrap(), fingerprint);
        assert_eq!(fingerprint, Fingerprint::of(&Document::request("b", "Text number 1.")));
        assert_ne!(fingerprint, Fingerprint::of(&Document::text("a", "Text number 2.")));
    }
}
