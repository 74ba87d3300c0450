//! What a batch takes in tokens and money, and whether one document more may be sent within a budget.
//!
//! A token is some four bytes of English, until answers say how many it really is. A budget is kept by the worst case: no
//! token is shorter than a byte, half as much again as the most that was seen, and no answer is longer than its
//! `max_tokens`. It counts on the endpoint's own figures, and cannot know that a document is unlike all before it.

use std::collections::HashMap;

use serde::Deserialize;

use crate::contract::{Answer, Chat, Document, Event, FailureKind, Happening, Input, Outcome, Usage, Verdict};

/// What a million tokens cost, in a currency of the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Of a prompt.
    pub input: f64,
    /// Of an answer.
    pub output: f64,
}

/// Tokens, of prompts and of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tokens {
    /// Of prompts.
    pub input: f64,
    /// Of answers.
    pub output: f64,
}

/// What was spent, and what may still be.
#[derive(Debug)]
pub struct Spending {
    prices: Option<Prices>,
    budget: Option<f64>,
    chat: Chat,
    /// Submitted, and without an outcome.
    open: HashMap<String, Size>,
    open_size: Size,
    spent: Tokens,
    measured: Measured,
    has_answers: bool,
}

/// What of a document is known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    prompt_bytes: u64,
    answer_tokens: u64,
}

/// What answers said of their prompts.
#[derive(Debug, Default)]
struct Measured {
    answers: u32,
    bytes: u64,
    tokens: u64,
    most_per_byte: f64,
}

impl Spending {
    /// Nothing is spent yet.
    pub fn new(chat: &Chat, prices: Option<Prices>, budget: Option<f64>) -> Self {
        Self {
            prices,
            budget,
            chat: chat.clone(),
            open: HashMap::new(),
            open_size: Size::default(),
            spent: Tokens::default(),
            measured: Measured::default(),
            has_answers: false,
        }
    }

    /// Whether a document can be sent, if everything that is open turns out as dear as it can.
    pub fn admits(&self, document: &Document) -> bool {
        let Some(budget) = self.budget else { return true };
        // The first one goes alone: nobody knows yet what the endpoint counts.
        let is_first = !self.has_answers && !self.open.is_empty();
        let size = self.size(document);
        !is_first && self.price(self.spent) + self.worst_case(self.open_size) + self.worst_case(size) <= budget
    }

    /// Whether the budget might be passed if everything that is open were sent.
    pub fn is_at_risk(&self) -> bool {
        self.budget.is_some_and(|budget| self.price(self.spent) + self.worst_case(self.open_size) > budget)
    }

    /// A document will be sent.
    pub fn open(&mut self, document: &Document) {
        let size = self.size(document);
        self.open_size.add(size);
        self.open.insert(document.id.clone(), size);
    }

    /// Takes an event in.
    pub fn add(&mut self, event: &Event) {
        match &event.what {
            Happening::Faulted(fault) => {
                let size = self.open.get(&fault.id).copied().unwrap_or_default();
                self.lose(size);
            }
            Happening::Outcome(outcome) => self.settle(outcome),
            _ => {}
        }
    }

    /// Tokens so far: as the endpoint counted them, and of tries that brought no answer, which may have been charged, the
    /// estimate of the prompt and all that the answer might have taken.
    pub const fn spent(&self) -> Tokens {
        self.spent
    }

    /// Money so far; nothing without prices.
    pub fn cost(&self) -> Option<f64> {
        self.prices.map(|_| self.price(self.spent))
    }

    /// What tokens cost; 0 without prices.
    fn price(&self, tokens: Tokens) -> f64 {
        let prices = self.prices.unwrap_or_default();
        (tokens.input * prices.input + tokens.output * prices.output) / 1e6
    }

    fn settle(&mut self, outcome: &Outcome) {
        let size = self.open.remove(&outcome.id).unwrap_or_default();
        self.open_size.subtract(size);
        self.has_answers |= matches!(outcome.verdict, Verdict::Answered(_));
        match &outcome.verdict {
            Verdict::Answered(Answer { usage: Some(usage), .. }) => {
                self.spent.input += usage.prompt_tokens as f64;
                self.spent.output += usage.completion_tokens as f64;
                self.measured.add(size, usage);
            }
            Verdict::Answered(_) => self.lose(size),
            // The last try of such a failure may have been charged too. What was rejected was not.
            Verdict::Failed(failure) if may_be_charged(failure.kind) => self.lose(size),
            Verdict::Failed(_) | Verdict::Postponed(_) => {}
        }
    }

    /// Nobody says what it took.
    fn lose(&mut self, size: Size) {
        let tokens = self.estimate(size);
        self.spent.input += tokens.input;
        self.spent.output += tokens.output;
    }

    fn estimate(&self, size: Size) -> Tokens {
        let Measured { bytes, tokens, .. } = self.measured;
        let per_byte = if bytes > 0 { tokens as f64 / bytes as f64 } else { TOKENS_PER_BYTE };
        Tokens { input: (size.prompt_bytes as f64 * per_byte).ceil(), output: size.answer_tokens as f64 }
    }

    fn worst_case(&self, size: Size) -> f64 {
        // Images and prompts that the endpoint adds can make it more than one.
        let measured = self.measured.most_per_byte * MARGIN;
        let per_byte = if self.measured.answers >= ENOUGH_ANSWERS { measured } else { measured.max(1.0) };
        self.price(Tokens { input: size.prompt_bytes as f64 * per_byte, output: size.answer_tokens as f64 })
    }

    fn size(&self, document: &Document) -> Size {
        match &document.input {
            Input::Text(text) => {
                let system = self.chat.system_prompt.as_ref().map_or(0, String::len);
                let bytes = text.len() + system + self.chat.prompt_template.len() + FRAME_BYTES;
                let answer_tokens = self.chat.max_tokens.map_or(UNLIMITED_ANSWER, u64::from);
                Size { prompt_bytes: bytes as u64, answer_tokens }
            }
            Input::Request(body) => {
                let limits = serde_json::from_str::<Limits>(body).unwrap_or_default();
                let answer_tokens = limits.max_completion_tokens.or(limits.max_tokens).unwrap_or(UNLIMITED_ANSWER);
                Size {
                    prompt_bytes: body.len() as u64,
                    answer_tokens: answer_tokens.saturating_mul(limits.n.unwrap_or(1).max(1)),
                }
            }
        }
    }
}

impl Size {
    const fn add(&mut self, other: Self) {
        self.prompt_bytes = self.prompt_bytes.saturating_add(other.prompt_bytes);
        self.answer_tokens = self.answer_tokens.saturating_add(other.answer_tokens);
    }

    const fn subtract(&mut self, other: Self) {
        self.prompt_bytes = self.prompt_bytes.saturating_sub(other.prompt_bytes);
        self.answer_tokens = self.answer_tokens.saturating_sub(other.answer_tokens);
    }
}

impl Measured {
    fn add(&mut self, size: Size, usage: &Usage) {
        if size.prompt_bytes > 0 {
            self.answers += 1;
            self.bytes += size.prompt_bytes;
            self.tokens += usage.prompt_tokens;
            self.most_per_byte = self.most_per_byte.max(usage.prompt_tokens as f64 / size.prompt_bytes as f64);
        }
    }
}

const fn may_be_charged(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::ServerFault | FailureKind::UnusableAnswer | FailureKind::Unreachable)
}

/// What of a request says how long its answer may be.
#[derive(Default, Deserialize)]
struct Limits {
    max_completion_tokens: Option<u64>,
    max_tokens: Option<u64>,
    n: Option<u64>,
}

const TOKENS_PER_BYTE: f64 = 0.25;
/// The request around the messages; it also covers what chat templates add to each.
const FRAME_BYTES: usize = 80;
/// What an answer is taken to need whose length nobody limits.
const UNLIMITED_ANSWER: u64 = 16_384;
/// From so many answers on, what they took is believed, with a margin for texts that differ from them.
const ENOUGH_ANSWERS: u32 = 8;
const MARGIN: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Fault;

    fn spending(budget: f64) -> Spending {
        let chat = Chat {
            model: "m".into(),
            system_prompt: None,
            prompt_template: "{text}".into(),
            max_tokens: Some(100),
            temperature: None,
            extra: None,
        };
        Spending::new(&chat, Some(Prices { input: 1e6, output: 1e6 }), Some(budget))
    }

    fn document() -> Document {
        Document::text("a", "x".repeat(200 - FRAME_BYTES - "{text}".len()))
    }

    fn answered(prompt_tokens: u64) -> Event {
        let answer = Answer {
            text: None,
            finish_reason: None,
            note: None,
            usage: Some(Usage { prompt_tokens, completion_tokens: 10 }),
            status: 200,
            request_id: None,
            body: String::new(),
        };
        let outcome =
            Outcome { id: "a".into(), verdict: Verdict::Answered(answer), attempts: 1, refusals: 0, waited: 0 };
        Event { at: 0, what: Happening::Outcome(outcome) }
    }

    #[test]
    fn a_document_is_admitted_only_if_its_worst_case_fits() {
        assert!(spending(300.0).admits(&document()), "200 bytes and 100 tokens of answer");
        assert!(!spending(299.0).admits(&document()));
        let mut spending = spending(599.0);
        spending.open(&document());
        assert!(!spending.admits(&document()), "the one that is open counts");
        let mut rich = Spending { budget: Some(1e9), ..self::spending(0.0) };
        rich.open(&document());
        assert!(!rich.admits(&document()), "the first one goes alone");
        rich.add(&answered(50));
        rich.open(&document());
        assert!(rich.admits(&document()));
        spending.add(&answered(50));
        assert!((spending.cost().unwrap() - 60.0).abs() < 1e-9, "it took 50 and 10");
        assert!(spending.admits(&document()));
    }

    #[test]
    fn answers_teach_what_a_token_is() {
        let mut spending = spending(1e9);
        for _ in 0..ENOUGH_ANSWERS {
            spending.open(&document());
            spending.add(&answered(40));
        }
        let size = spending.size(&document());
        assert!((spending.estimate(size).input - 40.0).abs() < 1e-9);
        assert!((spending.worst_case(size) - 160.0).abs() < 1e-9, "half as much again, and the answer");
    }

    #[test]
    fn a_try_that_brought_nothing_counts_as_charged() {
        let mut spending = spending(449.0);
        spending.open(&document());
        assert!(!spending.is_at_risk());
        let fault = Fault {
            id: "a".into(),
            status: None,
            message: String::new(),
            wait: 0,
            jitter: 0,
            source: "back-off".into(),
        };
        spending.add(&Event { at: 0, what: Happening::Faulted(fault) });
        assert!((spending.cost().unwrap() - 150.0).abs() < 1e-9, "a quarter of 200 bytes, and 100 tokens of answer");
        assert!(spending.is_at_risk(), "another try may take 300 more");
    }

    #[test]
    fn an_endpoint_may_count_more_than_was_sent() {
        let mut spending = spending(1e9);
        for _ in 0..ENOUGH_ANSWERS {
            spending.open(&document());
            spending.add(&answered(2_000));
        }
        let size = spending.size(&document());
        assert!((spending.worst_case(size) - 3_100.0).abs() < 1e-6, "half as much again, and the answer");
    }

    #[test]
    fn a_request_says_itself_how_long_its_answer_may_be() {
        let spending = spending(1.0);
        let tokens = |body: &str| spending.size(&Document::request("a", body)).answer_tokens;
        assert_eq!(tokens(r#"{"max_tokens":7}"#), 7);
        assert_eq!(tokens(r#"{"max_tokens":7,"max_completion_tokens":9,"n":2}"#), 18);
        assert_eq!(tokens("{}"), UNLIMITED_ANSWER);
    }
}
