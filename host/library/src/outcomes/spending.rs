//! What a batch takes in tokens and money, and whether one document more may be sent within a budget.
//!
//! A budget is kept by the worst case (see `token_meter`), and no answer is longer than its `max_tokens`. It counts on the
//! endpoint's own figures, and cannot know that a document is unlike all before it.

use std::collections::HashMap;

use super::document_size::DocumentSize;
use super::token_meter::{TokenMeter, Tokens};
use crate::contract::{Answer, Chat, Document, Event, FailureKind, Happening, Outcome, Verdict};

/// What a million tokens cost, in a currency of the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Of a prompt.
    pub input: f64,
    /// Of an answer.
    pub output: f64,
}

/// What was spent, and what may still be.
#[derive(Debug)]
pub struct Spending {
    prices: Option<Prices>,
    budget: Option<f64>,
    chat: Chat,
    /// Submitted, and without an outcome.
    open: HashMap<String, DocumentSize>,
    open_size: DocumentSize,
    spent: Tokens,
    measured: TokenMeter,
    has_answers: bool,
}

impl Spending {
    /// Nothing is spent yet.
    pub fn new(chat: &Chat, prices: Option<Prices>, budget: Option<f64>) -> Self {
        Self {
            prices,
            budget,
            chat: chat.clone(),
            open: HashMap::new(),
            open_size: DocumentSize::default(),
            spent: Tokens::default(),
            measured: TokenMeter::default(),
            has_answers: false,
        }
    }

    /// Whether a document can be sent, if everything that is open turns out as dear as it can.
    pub fn admits(&self, document: &Document) -> bool {
        let Some(budget) = self.budget else { return true };
        // The first one goes alone: nobody knows yet what the endpoint counts.
        let is_first = !self.has_answers && !self.open.is_empty();
        let size = DocumentSize::of(document, &self.chat);
        !is_first && self.price(self.spent) + self.most(self.open_size) + self.most(size) <= budget
    }

    /// Whether the budget might be passed if everything that is open were sent.
    pub fn is_at_risk(&self) -> bool {
        self.budget.is_some_and(|budget| self.price(self.spent) + self.most(self.open_size) > budget)
    }

    /// A document will be sent.
    pub fn open(&mut self, document: &Document) {
        let size = DocumentSize::of(document, &self.chat);
        self.open_size.add(size);
        self.open.insert(document.id.clone(), size);
    }

    /// Takes an event in.
    pub fn add(&mut self, event: &Event) {
        match &event.what {
            // What found no connection was not charged.
            Happening::Faulted(fault) if fault.reached => {
                let size = self.open.get(&fault.id).copied().unwrap_or_default();
                self.add_estimate(size);
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

    /// The most that so much can cost.
    fn most(&self, size: DocumentSize) -> f64 {
        self.price(self.measured.worst_case(size))
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
            Verdict::Answered(_) => self.add_estimate(size),
            // The last try of such a failure may have been charged too. What was rejected was not.
            Verdict::Failed(failure) if may_be_charged(failure.kind) => self.add_estimate(size),
            Verdict::Failed(_) | Verdict::Postponed(_) => {}
        }
    }

    /// Nobody says what it took.
    fn add_estimate(&mut self, size: DocumentSize) {
        let tokens = self.measured.estimate(size);
        self.spent.input += tokens.input;
        self.spent.output += tokens.output;
    }
}

const fn may_be_charged(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::ServerFault | FailureKind::UnusableAnswer | FailureKind::Unreachable)
}

#[cfg(test)]
mod tests {
    use super::super::document_size::FRAME_BYTES;
    use super::*;
    use crate::contract::{Fault, Usage};

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
    fn a_try_that_brought_nothing_counts_as_charged() {
        let mut spending = spending(449.0);
        spending.open(&document());
        assert!(!spending.is_at_risk());
        let fault = Fault {
            id: "a".into(),
            status: None,
            reached: true,
            message: String::new(),
            wait: 0,
            jitter: 0,
            source: "back-off".into(),
        };
        let unsent = Fault { reached: false, ..fault.clone() };
        spending.add(&Event { at: 0, what: Happening::Faulted(unsent) });
        assert_eq!(spending.cost(), Some(0.0), "a refused connection costs nothing");
        spending.add(&Event { at: 0, what: Happening::Faulted(fault) });
        assert!((spending.cost().unwrap() - 150.0).abs() < 1e-9, "a quarter of 200 bytes, and 100 tokens of answer");
        assert!(spending.is_at_risk(), "another try may take 300 more");
    }
}
