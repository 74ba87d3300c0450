//! What earlier runs brought home, as their results say it.

use serde::de::{Error, IgnoredAny};

use super::result_line::{Ending, ResultLine};
use super::shortfall::Shortfall;
use crate::contract::Document;
use crate::documents::{ChatFingerprint, Fingerprint, IdPrint, Row};

/// The documents of earlier runs, by what their ids are known by: 24 bytes each, however long ids are.
#[derive(Debug, Default)]
pub struct ResultHistory(Vec<(IdPrint, Known)>);

/// How a document fared before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// It was never sent, or put off.
    Never,
    /// It was answered.
    Answered,
    /// It was answered, and this is missing of the answer.
    Short(Shortfall),
    /// A document of that id was answered, but it had another content.
    Changed,
    /// It failed.
    Failed,
}

/// What is known of a document, in eight bytes: of which content the answer is, and in the last two bits what is missing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known([u8; 8]);

impl Known {
    const FAILED: Self = Self([0; 8]);
    const SHORT: u64 = 0b11;
    /// Older results do not say what the document was.
    const ANY_CONTENT: u64 = !Self::SHORT;

    fn answered(document: Option<Fingerprint>, shortfall: Option<Shortfall>) -> Self {
        let short = shortfall.map_or(0, |shortfall| 1 + shortfall as u64);
        Self((document.map_or(Self::ANY_CONTENT, Self::content) | short).to_be_bytes())
    }

    fn content(document: Fingerprint) -> u64 {
        (document.short() & !Self::SHORT).clamp(Self::SHORT + 1, Self::ANY_CONTENT - Self::SHORT - 1)
    }

    /// Whether it is of a document with that content.
    fn is_of(self, document: Option<Fingerprint>) -> bool {
        let known = u64::from_be_bytes(self.0) & !Self::SHORT;
        known == Self::ANY_CONTENT || document.is_some_and(|document| known == Self::content(document))
    }

    fn shortfall(self) -> Option<Shortfall> {
        let short = u64::from_be_bytes(self.0) & Self::SHORT;
        Shortfall::ALL.into_iter().find(|shortfall| 1 + *shortfall as u64 == short)
    }
}

impl ResultHistory {
    /// Reads a line of results.
    pub(super) fn add(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let line = serde_json::from_slice::<ResultLine<IgnoredAny>>(line)?;
        if !line.is_of_results() {
            return Err(Error::missing_field("response"));
        }
        let id = IdPrint::of(&line.custom_id);
        match line.ending() {
            Some(Ending::Answered) => {
                let becalm = line.becalm.as_ref();
                let shortfall = becalm.and_then(|becalm| Shortfall::named(becalm.shortfall.as_deref()?));
                self.0.push((id, Known::answered(becalm.and_then(|becalm| becalm.document), shortfall)));
            }
            Some(Ending::Failed) => self.0.push((id, Known::FAILED)),
            Some(Ending::Postponed) | None => {}
        }
        Ok(())
    }

    /// All lines are read: of each document the latest answer counts, whatever came of sending it again, else that it
    /// failed.
    pub(super) fn settle(&mut self) {
        self.0.sort_by_key(|(id, _)| *id);
        self.0.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same && later.1 != Known::FAILED {
                earlier.1 = later.1;
            }
            is_same
        });
    }

    /// How many documents.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How this document fared, if that was asked.
    pub fn before(&self, row: &Row, chat: ChatFingerprint) -> Before {
        let find = |id: &str| self.0.binary_search_by_key(&IdPrint::of(id), |(id, _)| *id);
        // Earlier versions kept the `./` that a file was named with.
        let Ok(index) = find(row.id()).or_else(|_| find(&format!("./{}", row.id()))) else {
            return Before::Never;
        };
        let known = self.0[index].1;
        // By the older reckoning only where this one does not fit: each hashes the whole document.
        let reckonings: [fn(&Document, ChatFingerprint) -> Fingerprint; 2] = [Fingerprint::of, Fingerprint::older];
        let is_same = || reckonings.iter().any(|of| known.is_of(row.document().map(|document| of(document, chat))));
        match known.shortfall() {
            _ if known == Known::FAILED => Before::Failed,
            _ if !is_same() => Before::Changed,
            Some(shortfall) => Before::Short(shortfall),
            None => Before::Answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: &str = r#"{"custom_id":"a","response":{"status_code":200,"body":{}},"error":null}"#;
    const FAILED: &str =
        r#"{"custom_id":"a","response":{"status_code":400},"error":{"code":"rejected","message":"m"}}"#;
    const POSTPONED: &str = r#"{"custom_id":"a","response":null,"error":{"code":"postponed-patience","message":"m"}}"#;

    fn before(lines: &[&str]) -> Before {
        let mut history = ResultHistory::default();
        lines.iter().for_each(|line| history.add(line.as_bytes()).unwrap());
        history.settle();
        history.before(&Document::text("a", "Text.").into(), ChatFingerprint::default())
    }

    #[test]
    fn a_line_without_a_result_is_none() {
        let mut history = ResultHistory::default();
        assert!(history.add(br#"{"custom_id":"a","body":{"model":"m"}}"#).is_err());
        assert!(history.add(br#"{"custom_id":"a","response":null,"error":null}"#).is_ok());
    }

    #[test]
    fn a_document_is_known_by_its_name_with_and_without_the_folder_it_was_named_in() {
        let mut history = ResultHistory::default();
        history.add(ANSWERED.replace("\"a\"", "\"./a\"").as_bytes()).unwrap();
        history.settle();
        assert_eq!(history.before(&Document::text("a", "Text.").into(), ChatFingerprint::default()), Before::Answered);
    }

    #[test]
    fn an_answer_outlives_whatever_comes_later() {
        assert_eq!(before(&[]), Before::Never);
        assert_eq!(before(&[POSTPONED]), Before::Never);
        assert_eq!(before(&[FAILED, POSTPONED]), Before::Failed);
        assert_eq!(before(&[FAILED, ANSWERED]), Before::Answered);
        assert_eq!(before(&[ANSWERED, FAILED]), Before::Answered);
    }

    #[test]
    fn a_document_that_changed_is_told() {
        let line = |text: &str| {
            let document = Fingerprint::of(&Document::text("a", text), ChatFingerprint::default());
            ANSWERED.replace("null}", &format!(r#"null,"becalm":{{"document":"{document}"}}}}"#))
        };
        assert_eq!(before(&[&line("Text.")]), Before::Answered);
        assert_eq!(before(&[&line("Another text.")]), Before::Changed);
    }
}
