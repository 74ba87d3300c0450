//! What is wrong with an input as a whole; nothing of the batch is sent then.

use std::io;

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
