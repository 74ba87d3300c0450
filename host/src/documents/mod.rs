//! Documents on their way in: what the user names becomes a stream of documents. Everything is looked at once before the
//! first request, so that a mistake costs nothing, and read again, piece by piece, while the batch runs.

mod fingerprint;
mod lines;
mod text;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use walkdir::{DirEntry, WalkDir};

pub use self::fingerprint::Fingerprint;
pub(crate) use self::fingerprint::IdPrint;
use crate::contract::{Document, Input};

/// What the user named, checked.
#[derive(Debug)]
pub struct Inputs {
    sources: Vec<Source>,
    count: u64,
    has_texts: bool,
    warnings: Vec<String>,
    /// Standard input, kept so that it can be read twice.
    _spooled: Option<NamedTempFile>,
}

/// One file.
#[derive(Clone, Debug)]
struct Source {
    /// What the user calls it.
    name: String,
    path: PathBuf,
    form: Form,
}

/// Where a document stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    source: usize,
    /// From 1; 0 where the whole file is one document.
    line: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The whole file is one document.
    Text,
    /// A document per line, as JSON.
    Lines,
}

/// Why an input cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file or folder cannot be read.
    #[error("cannot read {name}")]
    Unreadable {
        /// What the user calls it.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line is no document.
    #[error("{name}, line {line}: {message}")]
    Malformed {
        /// What the user calls the file.
        name: String,
        /// From 1.
        line: u64,
        /// What is wrong with it.
        message: String,
    },
    /// Two documents have one id, so their outcomes could not be told apart.
    #[error("the id {id:?} occurs twice: in {first} and in {second}")]
    DuplicateId {
        /// The id.
        id: String,
        /// Where it came first.
        first: String,
        /// Where it came again.
        second: String,
    },
    /// There is nothing to do.
    #[error("no documents in {0}")]
    Empty(String),
}

impl Inputs {
    /// Looks at everything that is named: files, folders (all files in them and below, hidden ones left out, sorted),
    /// `-` for standard input. Files that end in `.jsonl` or `.ndjson` hold a document per line, others are one document.
    ///
    /// # Errors
    ///
    /// The first mistake; nothing of the batch should be sent then.
    pub fn scan(named: &[PathBuf], stdin: impl Read) -> Result<Self, InputError> {
        let mut inputs = Self { sources: vec![], count: 0, has_texts: false, warnings: vec![], _spooled: None };
        let mut stdin = Some(stdin);
        for path in named {
            if path.as_os_str() != "-" {
                inputs.add(path)?;
            } else if let Some(stdin) = stdin.take() {
                inputs
                    .spool(stdin)
                    .map_err(|source| InputError::Unreadable { name: "standard input".into(), source })?;
            }
        }
        inputs.check()?;
        Ok(inputs)
    }

    /// How many documents there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether a document is a text, which needs the batch's prompt and model.
    pub const fn has_texts(&self) -> bool {
        self.has_texts
    }

    /// What is odd but can be used.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The documents, in their order, read as they are asked for.
    pub fn documents(&self) -> impl Iterator<Item = Result<Document, InputError>> {
        self.placed().map(|document| document.map(|(document, _)| document))
    }

    /// Each with its place.
    fn placed(&self) -> impl Iterator<Item = Result<(Document, Place), InputError>> {
        let sources = self.sources.iter().enumerate();
        sources.flat_map(|(source, file)| {
            file.documents().map(move |document| document.map(|(document, line)| (document, Place { source, line })))
        })
    }

    /// A place in words.
    fn said(&self, place: Place) -> String {
        let name = &self.sources[place.source].name;
        if place.line == 0 { name.clone() } else { format!("{name}, line {}", place.line) }
    }

    /// The documents of these numbers have one id.
    fn duplicate(&self, first: u32, second: u32) -> InputError {
        let mut placed = self.placed().flatten();
        let first_place = placed.nth(first as usize).map(|(_, place)| self.said(place));
        let second = placed.nth((second - first - 1) as usize);
        let (id, second_place) = second.map(|(document, place)| (document.id, self.said(place))).unwrap_or_default();
        InputError::DuplicateId { id, first: first_place.unwrap_or_default(), second: second_place }
    }

    fn add(&mut self, path: &Path) -> Result<(), InputError> {
        let name = path.display().to_string();
        let unreadable = |source| InputError::Unreadable { name: name.clone(), source };
        if !fs::metadata(path).map_err(unreadable)?.is_dir() {
            self.sources.push(Source::file(path));
            return Ok(());
        }
        let before = self.sources.len();
        for entry in WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(is_visible) {
            let entry = entry.map_err(|error| unreadable(error.into()))?;
            if entry.path().is_file() {
                self.sources.push(Source::file(entry.path()));
            }
        }
        if self.sources.len() == before { Err(InputError::Empty(name)) } else { Ok(()) }
    }

    /// Standard input holds documents per line if it begins like JSON; else it is one document.
    fn spool(&mut self, mut stdin: impl Read) -> io::Result<()> {
        let mut file = NamedTempFile::new()?;
        io::copy(&mut stdin, &mut file)?;
        let mut reader = BufReader::new(File::open(file.path())?);
        let begin = reader.fill_buf()?.trim_ascii_start();
        let form = if begin.starts_with(b"{") { Form::Lines } else { Form::Text };
        self.sources.push(Source { name: "-".into(), path: file.path().into(), form });
        self._spooled = Some(file);
        Ok(())
    }

    fn check(&mut self) -> Result<(), InputError> {
        let mut ids = vec![];
        let (mut warnings, mut has_texts) = (vec![], false);
        for (document, number) in self.documents().zip(0_u32..) {
            let document = document?;
            has_texts |= matches!(document.input, Input::Text(_));
            ids.push((IdPrint::of(&document.id), number));
        }
        let count = ids.len() as u64;
        ids.sort_unstable();
        let twice = ids.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        if let Some([(_, first), (_, second)]) = twice.min_by_key(|pair| pair[1].1) {
            return Err(self.duplicate(*first, *second));
        }
        for source in self.sources.iter().filter(|source| source.form == Form::Text) {
            if !text::is_utf8(&source.path) {
                warnings.push(format!("{} is not UTF-8; what cannot be read is replaced by U+FFFD", source.name));
            }
        }
        self.count = count;
        self.warnings = warnings;
        self.has_texts = has_texts;
        if self.count == 0 { Err(InputError::Empty("the input".into())) } else { Ok(()) }
    }
}

impl Source {
    fn file(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let has_lines = ["jsonl", "ndjson"].iter().any(|known| known.eq_ignore_ascii_case(extension));
        let form = if has_lines { Form::Lines } else { Form::Text };
        Self { name: path.display().to_string(), path: path.into(), form }
    }

    /// The documents, each with its line.
    fn documents(&self) -> Box<dyn Iterator<Item = Result<(Document, u64), InputError>> + '_> {
        let unreadable = |source| InputError::Unreadable { name: self.name.clone(), source };
        match (self.form, File::open(&self.path)) {
            (_, Err(error)) => Box::new([Err(unreadable(error))].into_iter()),
            (Form::Text, Ok(file)) => {
                let document = text::read(&self.name, file).map_err(unreadable);
                Box::new([document.map(|document| (document, 0))].into_iter())
            }
            (Form::Lines, Ok(file)) => Box::new(lines::read(&self.name, BufReader::new(file))),
        }
    }
}

/// The folder itself is taken even if it is hidden: it was named.
fn is_visible(entry: &DirEntry) -> bool {
    entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
}
