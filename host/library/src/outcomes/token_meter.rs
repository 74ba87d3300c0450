//! How many tokens a document takes: estimated, until answers say how many it really is.

use super::document_size::DocumentSize;
use crate::contract::Usage;
use crate::tokens::BYTES_PER_TOKEN;

/// Tokens, of prompts and of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tokens {
    /// Of prompts.
    pub input: f64,
    /// Of answers.
    pub output: f64,
}

/// What answers said of their prompts.
#[derive(Debug, Default)]
pub(super) struct TokenMeter {
    answers: u32,
    bytes: u64,
    tokens: u64,
    most_per_byte: f64,
}

impl TokenMeter {
    /// An answer says what its document took.
    pub(super) fn add(&mut self, size: DocumentSize, usage: &Usage) {
        if size.prompt_bytes > 0 {
            self.answers += 1;
            self.bytes = self.bytes.saturating_add(size.prompt_bytes);
            self.tokens = self.tokens.saturating_add(usage.prompt_tokens);
            self.most_per_byte = self.most_per_byte.max(usage.prompt_tokens as f64 / size.prompt_bytes as f64);
        }
    }

    /// What a document takes, as those before it; of the answer, all that it may have.
    pub(super) fn estimate(&self, size: DocumentSize) -> Tokens {
        let per_byte =
            if self.bytes > 0 { self.tokens as f64 / self.bytes as f64 } else { 1.0 / BYTES_PER_TOKEN as f64 };
        Tokens { input: (size.prompt_bytes as f64 * per_byte).ceil(), output: size.answer_tokens as f64 }
    }

    /// The most that it can take: no token is shorter than a byte; and half as much again as the most that was seen.
    pub(super) fn worst_case(&self, size: DocumentSize) -> Tokens {
        // Images and prompts that the endpoint adds can make it more than one.
        let measured = self.most_per_byte * MARGIN;
        let per_byte = if self.answers >= ENOUGH_ANSWERS { measured } else { measured.max(1.0) };
        Tokens { input: size.prompt_bytes as f64 * per_byte, output: size.answer_tokens as f64 }
    }
}

/// From so many answers on, what they took is believed, with a margin for texts that differ from them.
const ENOUGH_ANSWERS: u32 = 8;
const MARGIN: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: DocumentSize = DocumentSize { prompt_bytes: 200, answer_tokens: 100 };

    fn measured(prompt_tokens: u64) -> TokenMeter {
        let mut meter = TokenMeter::default();
        (0..ENOUGH_ANSWERS).for_each(|_| meter.add(SIZE, &Usage { prompt_tokens, completion_tokens: 10 }));
        meter
    }

    #[test]
    fn answers_teach_what_a_token_is() {
        assert_eq!(TokenMeter::default().estimate(SIZE), Tokens { input: 50.0, output: 100.0 });
        assert_eq!(measured(40).estimate(SIZE).input, 40.0);
        assert!((measured(40).worst_case(SIZE).input - 60.0).abs() < 1e-9, "half as much again");
    }

    #[test]
    fn an_endpoint_may_count_more_than_was_sent() {
        assert!((measured(2_000).worst_case(SIZE).input - 3_000.0).abs() < 1e-6, "half as much again");
        assert!(measured(u64::MAX).estimate(SIZE).input.is_finite());
    }
}
