//! What tells two documents apart without keeping them: a hash that stays the same from version to version, because it is
//! written into the results.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::{Xxh3, xxh3_128, xxh3_128_with_seed};

use crate::contract::{Chat, Document, Input};

/// 128 bits of XXH3: among a million documents two that differ have the same one with a chance of 1 in 10^26.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u128);

/// What is asked about texts: another model, prompt or length makes another document of the same text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChatFingerprint {
    now: u64,
    /// As versions reckoned it that left out how long and how varied an answer may be.
    older: u64,
}

impl ChatFingerprint {
    /// By these settings, all of them.
    pub fn of(chat: &Chat) -> Self {
        let mut hasher = Xxh3::new();
        for part in [Some(&chat.model), chat.system_prompt.as_ref(), Some(&chat.prompt_template), chat.extra.as_ref()] {
            // Neither length nor absence can be taken for a part of the next one.
            hasher.update(&part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
            hasher.update(part.map_or("", String::as_str).as_bytes());
        }
        let older = hasher.digest();
        hasher.update(&chat.max_tokens.map_or(u64::MAX, u64::from).to_le_bytes());
        hasher.update(&chat.temperature.map_or(u64::MAX, f64::to_bits).to_le_bytes());
        Self { now: hasher.digest(), older }
    }
}

impl Fingerprint {
    /// Of what a document contains and is asked, whatever it is called.
    pub fn of(document: &Document, chat: ChatFingerprint) -> Self {
        Self::with_seed(document, chat.now)
    }

    /// The same as older versions wrote it.
    pub(crate) fn older(document: &Document, chat: ChatFingerprint) -> Self {
        Self::with_seed(document, chat.older)
    }

    fn with_seed(document: &Document, seed: u64) -> Self {
        match &document.input {
            Input::Text(content) => Self(xxh3_128_with_seed(content.as_bytes(), seed)),
            Input::Request(content) => Self(xxh3_128(content.as_bytes())),
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

impl Serialize for Fingerprint {
    fn serialize<To: Serializer>(&self, to: To) -> Result<To::Ok, To::Error> {
        to.collect_str(self)
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
        let of = |document: &Document| Fingerprint::of(document, ChatFingerprint::default());
        let fingerprint = of(&Document::text("a", "Text number 1."));
        assert_eq!(fingerprint.to_string(), "3e197b5e6ce944510eaddf1f0486f28a");
        assert_eq!(serde_json::from_str::<Fingerprint>(&format!("\"{fingerprint}\"")).unwrap(), fingerprint);
        assert_eq!(fingerprint, of(&Document::request("b", "Text number 1.")));
        assert_ne!(fingerprint, of(&Document::text("a", "Text number 2.")));
    }

    #[test]
    fn what_is_asked_is_a_part_of_it() {
        let chat = |model: &str, system: Option<&str>, template: &str| Chat {
            model: model.into(),
            system_prompt: system.map(String::from),
            prompt_template: template.into(),
            max_tokens: None,
            temperature: None,
            extra: None,
        };
        let usual = ChatFingerprint::of(&chat("m", Some("s"), "{text}"));
        let longer = ChatFingerprint::of(&Chat { max_tokens: Some(1), ..chat("m", Some("s"), "{text}") });
        assert!(usual.now != longer.now && usual.older == longer.older, "older results say nothing of it");
        for other in [chat("n", Some("s"), "{text}"), chat("m", None, "{text}"), chat("ms", Some(""), "{text}")] {
            let other = ChatFingerprint::of(&other);
            assert!(usual.now != other.now && usual.older != other.older);
        }
        let (text, request) = (Document::text("a", "t"), Document::request("a", "t"));
        assert_ne!(Fingerprint::of(&text, usual), Fingerprint::of(&text, ChatFingerprint::default()));
        assert_eq!(Fingerprint::of(&request, usual), Fingerprint::of(&request, ChatFingerprint::default()));
    }
}
