//! How much a document is, as far as that is known before it is sent.

use serde::Deserialize;

use crate::contract::{Chat, Document, Input};

/// What of a document is known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DocumentSize {
    pub(super) prompt_bytes: u64,
    /// The most that its answer may have.
    pub(super) answer_tokens: u64,
}

impl DocumentSize {
    /// Of a document that is asked this.
    pub(super) fn of(document: &Document, chat: &Chat) -> Self {
        match &document.input {
            Input::Text(text) => {
                let system = chat.system_prompt.as_ref().map_or(0, String::len);
                let bytes = text.len() + system + chat.prompt_template.len() + FRAME_BYTES;
                Self { prompt_bytes: bytes as u64, answer_tokens: chat.max_tokens.map_or(UNLIMITED_ANSWER, u64::from) }
            }
            Input::Request(body) => {
                let limits = serde_json::from_str::<Limits>(body).unwrap_or_default();
                let answer_tokens = limits.max_completion_tokens.or(limits.max_tokens).unwrap_or(UNLIMITED_ANSWER);
                Self {
                    prompt_bytes: body.len() as u64,
                    answer_tokens: answer_tokens.saturating_mul(limits.n.unwrap_or(1).max(1)),
                }
            }
        }
    }

    /// One more.
    pub(super) const fn add(&mut self, other: Self) {
        self.prompt_bytes = self.prompt_bytes.saturating_add(other.prompt_bytes);
        self.answer_tokens = self.answer_tokens.saturating_add(other.answer_tokens);
    }

    /// One less.
    pub(super) const fn subtract(&mut self, other: Self) {
        self.prompt_bytes = self.prompt_bytes.saturating_sub(other.prompt_bytes);
        self.answer_tokens = self.answer_tokens.saturating_sub(other.answer_tokens);
    }
}

/// What of a request says how long its answer may be.
#[derive(Default, Deserialize)]
struct Limits {
    max_completion_tokens: Option<u64>,
    max_tokens: Option<u64>,
    n: Option<u64>,
}

/// The request around the messages; it also covers what chat templates add to each.
pub(super) const FRAME_BYTES: usize = 80;
/// What an answer is taken to need whose length nobody limits.
const UNLIMITED_ANSWER: u64 = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Settings;

    #[test]
    fn a_request_says_itself_how_long_its_answer_may_be() {
        let chat = Settings::default().chat;
        let tokens = |body: &str| DocumentSize::of(&Document::request("a", body), &chat).answer_tokens;
        assert_eq!(tokens(r#"{"max_tokens":7}"#), 7);
        assert_eq!(tokens(r#"{"max_tokens":7,"max_completion_tokens":9,"n":2}"#), 18);
        assert_eq!(tokens("{}"), UNLIMITED_ANSWER);
    }
}
