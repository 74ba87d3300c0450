//! Answers that are none to build on: they were paid for and stand in the results, and can be asked for again.

use crate::contract::Answer;

/// What is missing of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// It ends at `max_tokens`.
    CutOff,
    /// It has no text.
    Empty,
    /// The model declined, or a content filter took it.
    RefusedByModel,
}

impl Shortfall {
    /// Every one of them.
    pub const ALL: [Self; 3] = [Self::CutOff, Self::Empty, Self::RefusedByModel];

    /// What is missing of this one, if anything is.
    pub fn of(answer: &Answer) -> Option<Self> {
        let reason = answer.finish_reason.as_deref().unwrap_or_default().to_ascii_lowercase();
        let is_empty = answer.text.as_ref().is_none_or(|text| text.trim().is_empty());
        let note = answer.note.as_deref().unwrap_or_default();
        match reason.as_str() {
            "length" | "max_tokens" | "model_length" => Some(Self::CutOff),
            "content_filter" | "safety" | "refusal" | "recitation" => Some(Self::RefusedByModel),
            _ if note.starts_with(DECLINED) => Some(Self::RefusedByModel),
            // A call of a tool is an answer, too.
            "tool_calls" | "function_call" | "tool_use" => None,
            _ => is_empty.then_some(Self::Empty),
        }
    }

    /// As it stands in the results and after `--again`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CutOff => "cut-off",
            Self::Empty => "empty",
            Self::RefusedByModel => "refused-by-model",
        }
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shortfall| shortfall.name() == name)
    }
}

/// How the component notes that the model declined.
const DECLINED: &str = "the model declined";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_by_the_end_of_the_answer() {
        let of = |text: Option<&str>, finish_reason: &str, note: Option<&str>| {
            Shortfall::of(&Answer {
                text: text.map(String::from),
                finish_reason: Some(finish_reason.into()),
                note: note.map(String::from),
                usage: None,
                status: 200,
                request_id: None,
                body: String::new(),
            })
        };
        assert_eq!(of(Some("half"), "length", None), Some(Shortfall::CutOff));
        assert_eq!(of(Some(" "), "stop", None), Some(Shortfall::Empty));
        assert_eq!(of(None, "stop", Some("the model declined: no")), Some(Shortfall::RefusedByModel));
        assert_eq!(of(Some("x"), "content_filter", None), Some(Shortfall::RefusedByModel));
        assert_eq!(of(None, "tool_calls", None), None);
        assert_eq!(of(Some("whole"), "stop", None), None);
        assert!(Shortfall::ALL.into_iter().all(|shortfall| Shortfall::named(shortfall.name()) == Some(shortfall)));
    }
}
