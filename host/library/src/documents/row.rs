//! What stands in the input for one document: the document, or why there is none.

use crate::contract::{Document, Failure, FailureKind, Outcome, Verdict};

/// One document of the input, usable or not. Both get an outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A document that can be sent.
    Document(Document),
    /// Something that cannot be.
    Unusable(Unusable),
}

/// A document that cannot be sent. It fails by itself; the batch goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Its id, or its place where it has none that can be read.
    pub id: String,
    /// Where it stands, and what is wrong with it.
    pub message: String,
}

/// A row, and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) row: Row,
    /// From 1; 0 where the whole file is one document.
    pub(super) line: u64,
    /// Lone surrogates were replaced in it.
    pub(super) is_mended: bool,
}

impl Row {
    /// What names its outcome.
    pub fn id(&self) -> &str {
        match self {
            Self::Document(document) => &document.id,
            Self::Unusable(unusable) => &unusable.id,
        }
    }

    /// The document, if it is one.
    pub(crate) const fn document(&self) -> Option<&Document> {
        match self {
            Self::Document(document) => Some(document),
            Self::Unusable(_) => None,
        }
    }

    /// A text, if there is anything in it.
    pub(super) fn text(id: String, text: String) -> Result<Self, (Option<String>, String)> {
        if text.trim().is_empty() {
            return Err((Some(id), "the document is empty; nothing was sent".into()));
        }
        Ok(Self::Document(Document::text(id, text)))
    }

    /// How much of it there is.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Document(document) => document.content().len(),
            Self::Unusable(_) => 0,
        }
    }
}

impl Placed {
    /// The row, or why there is none: with the id if that could be read.
    pub(super) fn new(file: &str, line: u64, row: Result<Row, (Option<String>, String)>) -> Self {
        let row = row.unwrap_or_else(|(id, message)| {
            let (place, name) = match line {
                0 => (file.to_string(), file.to_string()),
                _ => (format!("{file}, line {line}"), format!("{file}:{line}")),
            };
            Row::Unusable(Unusable { id: id.unwrap_or(name), message: format!("{place}: {message}") })
        });
        Self { row, line, is_mended: false }
    }
}

impl Unusable {
    /// The outcome that it gets.
    pub fn outcome(self) -> Outcome {
        let failure = Failure {
            kind: FailureKind::InvalidDocument,
            message: self.message,
            status: None,
            request_id: None,
            body: None,
        };
        Outcome { id: self.id, verdict: Verdict::Failed(failure), attempts: 0, refusals: 0, waited: 0 }
    }
}

impl From<Document> for Row {
    fn from(document: Document) -> Self {
        Self::Document(document)
    }
}

/// Why a document is not kept.
pub(super) fn too_large() -> String {
    format!("it is larger than {} MiB; nothing was sent", MOST_BYTES / 1024 / 1024)
}

/// What one document may have. No model takes so much; a file without line ends must not fill the memory.
pub(super) const MOST_BYTES: usize = 64 * 1024 * 1024;
