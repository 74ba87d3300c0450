//! One file of the input, and how documents stand in it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use super::error::InputError;
use super::lines;
use super::packing::{Packing, extension};
use super::row::Placed;
use super::spool::Spool;
use super::table::{self, Columns};
use super::text::{self, BYTE_ORDER_MARK};

/// One file.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// What the user calls it.
    name: String,
    place: Place,
    form: Form,
}

/// Where it can be read.
#[derive(Clone, Debug)]
enum Place {
    File(PathBuf, Packing),
    Spool(Spool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The whole file is one document.
    Text,
    /// A document per line, as JSON.
    Lines,
    /// A document per row, with this byte between columns, or with one that its first line shows.
    Table(Option<u8>),
}

impl Source {
    pub(super) fn file(path: &Path) -> Self {
        let packing = Packing::of(path);
        let inner = if packing == Packing::None { path.into() } else { path.with_extension("") };
        let form = match extension(&inner).as_str() {
            "jsonl" | "ndjson" | "jl" => Form::Lines,
            "csv" => Form::Table(None),
            "tsv" => Form::Table(Some(b'\t')),
            _ => Form::Text,
        };
        // `./contracts/a.txt` is the same document as `contracts/a.txt`.
        let parts = path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
        Self { name: parts.display().to_string(), place: Place::File(path.into(), packing), form }
    }

    /// Standard input is a table if columns are named for it, holds documents per line if it begins like JSON, and is
    /// one document else.
    ///
    /// It is kept, so that it can be read twice.
    pub(super) fn spooled(name: &str, pipe: impl Read, has_columns: bool) -> io::Result<Self> {
        let spool = Spool::of(pipe)?;
        let mut reader = BufReader::new(spool.reader());
        let begin = reader.fill_buf()?;
        let begin = begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begin).trim_ascii_start();
        let form = match begin.starts_with(b"{") {
            true => Form::Lines,
            false if has_columns => Form::Table(None),
            false => Form::Text,
        };
        Ok(Self { name: name.into(), place: Place::Spool(spool), form })
    }

    /// What the user calls it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The documents, each with its place.
    pub(super) fn rows<'a>(&'a self, columns: &Columns) -> Box<dyn Iterator<Item = Result<Placed, InputError>> + 'a> {
        let unreadable = |source| InputError::Unreadable { name: self.name.clone(), source };
        let file: Box<dyn Read + 'a> = match &self.place {
            Place::Spool(spool) => Box::new(spool.reader()),
            Place::File(path, packing) => match File::open(path).and_then(|file| packing.reader(file)) {
                Ok(file) => file,
                Err(error) => return Box::new([Err(unreadable(error))].into_iter()),
            },
        };
        let file = BufReader::new(file);
        match self.form {
            Form::Text => Box::new([text::read(&self.name, file).map_err(unreadable)].into_iter()),
            Form::Lines => Box::new(lines::read(&self.name, file).map(move |placed| placed.map_err(unreadable))),
            Form::Table(separator) => match table::read(&self.name, file, columns.separator.or(separator), columns) {
                Ok(rows) => Box::new(rows.map(move |placed| placed.map_err(unreadable))),
                Err(error) => Box::new([Err(error)].into_iter()),
            },
        }
    }
}

/// What can be read once only, such as `<(command)` in a shell.
pub(super) fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}
