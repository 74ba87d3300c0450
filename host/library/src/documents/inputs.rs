//! What the user named, looked at once as a whole, and read again as the batch runs.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use tracing::debug;

use super::error::InputError;
use super::fingerprint::IdPrint;
use super::input_warnings::InputWarnings;
use super::named;
use super::row::{Placed, Row};
use super::source::{Source, is_pipe};
use super::table::Columns;
use crate::contract::{Document, Input};

/// What the user named, checked.
#[derive(Debug)]
pub struct Inputs {
    sources: Vec<Source>,
    columns: Columns,
    count: u64,
    has_texts: bool,
    warnings: Vec<String>,
}

impl Inputs {
    /// Looks at everything that is named: files, folders (all files in them and below, hidden ones left out, sorted),
    /// patterns such as `docs/**/*.md`, `-` for standard input. Files that end in `.jsonl` or `.ndjson` hold a document
    /// per line, those that end in `.csv` or `.tsv` one per row, others are one document.
    ///
    /// Columns are those of tables; where none are named, they are the usual ones, and standard input is no table. What is
    /// found in a folder is left out if it is one of `except`: results, most of all.
    ///
    /// # Errors
    ///
    /// The first mistake that concerns more than one document; nothing of the batch should be sent then.
    pub fn scan(
        named: &[PathBuf],
        stdin: impl Read,
        columns: Option<Columns>,
        except: &[PathBuf],
    ) -> Result<Self, InputError> {
        let has_columns = columns.is_some();
        let columns = columns.unwrap_or_default();
        let mut inputs = Self { sources: vec![], columns, count: 0, has_texts: false, warnings: vec![] };
        let mut stdin = Some(stdin);
        for path in named {
            let name = path.display().to_string();
            let unreadable = |source| InputError::Unreadable { name: name.clone(), source };
            if path.as_os_str() == "-" {
                let stdin = stdin.take().map(|stdin| inputs.spool("-", stdin, has_columns));
                stdin.transpose().map_err(|source| InputError::Unreadable { name: "standard input".into(), source })?;
            } else if is_pipe(path) {
                let pipe = File::open(path).map_err(unreadable)?;
                inputs.spool(&name, pipe, has_columns).map_err(unreadable)?;
            } else {
                inputs.sources.extend(named::files(path, except)?.iter().map(|path| Source::file(path)));
            }
        }
        inputs.check()?;
        debug!(files = inputs.sources.len(), documents = inputs.count, "the input is read");
        Ok(inputs)
    }

    /// How many documents there are, those included that cannot be used.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether a document is a text, which needs the batch's prompt and model.
    pub const fn has_texts(&self) -> bool {
        self.has_texts
    }

    /// What is odd.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The documents, in their order, read as they are asked for.
    pub fn rows(&self) -> impl Iterator<Item = Result<Row, InputError>> {
        self.placed().map(|placed| placed.map(|(_, placed)| placed.row))
    }

    /// Each with the number of its file.
    fn placed(&self) -> impl Iterator<Item = Result<(usize, Placed), InputError>> {
        let sources = self.sources.iter().enumerate();
        sources.flat_map(|(number, source)| {
            source.rows(&self.columns).map(move |placed| placed.map(|placed| (number, placed)))
        })
    }

    /// A place in words.
    fn said(&self, source: usize, line: u64) -> String {
        let name = self.sources[source].name();
        if line == 0 { name.into() } else { format!("{name}, line {line}") }
    }

    /// The documents of these numbers have one id.
    fn duplicate(&self, first: u32, second: u32) -> InputError {
        let mut placed = self.placed().flatten();
        let first_place = placed.nth(first as usize).map(|(source, placed)| self.said(source, placed.line));
        let second = placed.nth((second - first - 1) as usize);
        let (id, second_place) = second
            .map(|(source, placed)| (placed.row.id().to_string(), self.said(source, placed.line)))
            .unwrap_or_default();
        InputError::DuplicateId { id, first: first_place.unwrap_or_default(), second: second_place }
    }

    fn spool(&mut self, name: &str, pipe: impl Read, has_columns: bool) -> io::Result<()> {
        self.sources.push(Source::spooled(name, pipe, has_columns)?);
        Ok(())
    }

    fn check(&mut self) -> Result<(), InputError> {
        let mut ids = vec![];
        let (mut input_warnings, mut has_texts) = (InputWarnings::default(), false);
        for (placed, number) in self.placed().zip(0_u32..) {
            let (source, placed) = placed?;
            has_texts |= matches!(placed.row, Row::Document(Document { input: Input::Text(_), .. }));
            input_warnings.add(&placed, || self.said(source, placed.line));
            ids.push((IdPrint::of(placed.row.id()), number));
        }
        let count = ids.len() as u64;
        ids.sort_unstable();
        let twice = ids.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        if let Some([(_, first), (_, second)]) = twice.min_by_key(|pair| pair[1].1) {
            return Err(self.duplicate(*first, *second));
        }
        if let Some(message) = input_warnings.of_all(count) {
            return Err(InputError::Unusable(message));
        }
        (self.count, self.has_texts, self.warnings) = (count, has_texts, input_warnings.warnings());
        if self.count == 0 { Err(InputError::Empty("the input".into())) } else { Ok(()) }
    }
}
