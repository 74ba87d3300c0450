//! Documents on their way in: what the user names becomes a stream of documents. Everything is looked at once before the
//! first request, so that a mistake costs nothing, and read again, piece by piece, while the batch runs.

mod ahead;
mod fingerprint;
mod lines;
mod named;
mod oddities;
mod row;
mod surrogates;
mod table;
mod text;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;
use tracing::debug;

pub use self::ahead::Ahead;
pub(crate) use self::fingerprint::IdPrint;
pub use self::fingerprint::{Asked, Fingerprint};
use self::oddities::Oddities;
use self::row::Placed;
pub use self::row::{Row, Unusable};
pub use self::table::Columns;
use crate::contract::{Document, Input};

/// What the user named, checked.
#[derive(Debug)]
pub struct Inputs {
    sources: Vec<Source>,
    columns: Columns,
    count: u64,
    has_texts: bool,
    warnings: Vec<String>,
    /// Standard input and pipes, kept so that they can be read twice.
    spooled: Vec<NamedTempFile>,
}

/// One file.
#[derive(Clone, Debug)]
struct Source {
    /// What the user calls it.
    name: String,
    path: PathBuf,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The whole file is one document.
    Text,
    /// A document per line, as JSON.
    Lines,
    /// A document per row, with this byte between columns.
    Table(u8),
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
    /// A pattern of names is none.
    #[error("{pattern} is no pattern of names: {message}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// A table has no column of that name.
    #[error("{name} has no column {column:?}; there are: {}", columns.join(", "))]
    NoColumn {
        /// What the user calls the file.
        name: String,
        /// The column.
        column: String,
        /// The columns that it has.
        columns: Vec<String>,
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
    /// Not one of the documents can be used.
    #[error("no document can be used: {0}")]
    Unusable(String),
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
        let mut inputs =
            Self { sources: vec![], columns, count: 0, has_texts: false, warnings: vec![], spooled: vec![] };
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

    /// Those documents that are wanted, in their order, read ahead in a thread of its own.
    pub fn rows_ahead(self: &Arc<Self>, is_wanted: impl Fn(&Row) -> bool + Send + 'static) -> Ahead {
        Ahead::of(Arc::clone(self), is_wanted)
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
        let name = &self.sources[source].name;
        if line == 0 { name.clone() } else { format!("{name}, line {line}") }
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

    /// Standard input is a table if columns are named for it, holds documents per line if it begins like JSON, and is
    /// one document else.
    fn spool(&mut self, name: &str, mut pipe: impl Read, has_columns: bool) -> io::Result<()> {
        let mut file = NamedTempFile::new()?;
        io::copy(&mut pipe, &mut file)?;
        let mut reader = BufReader::new(File::open(file.path())?);
        let begin = reader.fill_buf()?;
        let begin = begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begin).trim_ascii_start();
        let form = match begin.starts_with(b"{") {
            true => Form::Lines,
            false if has_columns => Form::Table(b','),
            false => Form::Text,
        };
        self.sources.push(Source { name: name.into(), path: file.path().into(), form });
        self.spooled.push(file);
        Ok(())
    }

    fn check(&mut self) -> Result<(), InputError> {
        let mut ids = vec![];
        let (mut oddities, mut has_texts) = (Oddities::default(), false);
        for (placed, number) in self.placed().zip(0_u32..) {
            let (source, placed) = placed?;
            has_texts |= matches!(placed.row, Row::Document(Document { input: Input::Text(_), .. }));
            oddities.add(&placed, || self.said(source, placed.line));
            ids.push((IdPrint::of(placed.row.id()), number));
        }
        let count = ids.len() as u64;
        ids.sort_unstable();
        let twice = ids.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        if let Some([(_, first), (_, second)]) = twice.min_by_key(|pair| pair[1].1) {
            return Err(self.duplicate(*first, *second));
        }
        if let Some(message) = oddities.of_all(count) {
            return Err(InputError::Unusable(message));
        }
        (self.count, self.has_texts, self.warnings) = (count, has_texts, oddities.warnings());
        if self.count == 0 { Err(InputError::Empty("the input".into())) } else { Ok(()) }
    }
}

impl Source {
    fn file(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let form = match extension.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" => Form::Lines,
            "csv" => Form::Table(b','),
            "tsv" => Form::Table(b'\t'),
            _ => Form::Text,
        };
        // `./contracts/a.txt` is the same document as `contracts/a.txt`.
        let parts = path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
        Self { name: parts.display().to_string(), path: path.into(), form }
    }

    /// The documents, each with its place.
    fn rows<'a>(&'a self, columns: &Columns) -> Box<dyn Iterator<Item = Result<Placed, InputError>> + 'a> {
        let unreadable = |source| InputError::Unreadable { name: self.name.clone(), source };
        let file = match File::open(&self.path) {
            Ok(file) => BufReader::new(file),
            Err(error) => return Box::new([Err(unreadable(error))].into_iter()),
        };
        match self.form {
            Form::Text => Box::new([text::read(&self.name, file).map_err(unreadable)].into_iter()),
            Form::Lines => Box::new(lines::read(&self.name, file).map(move |placed| placed.map_err(unreadable))),
            Form::Table(separator) => match table::read(&self.name, file, separator, columns) {
                Ok(rows) => Box::new(rows.map(move |placed| placed.map_err(unreadable))),
                Err(error) => Box::new([Err(error)].into_iter()),
            },
        }
    }
}

/// What can be read once only, such as `<(command)` in a shell.
fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// Why a document is not kept.
fn too_large() -> String {
    format!("it is larger than {} MiB; nothing was sent", MOST_BYTES / 1024 / 1024)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// What one document may have. No model takes so much; a file without line ends must not fill the memory.
const MOST_BYTES: usize = 64 * 1024 * 1024;
