//! Documents on their way in: what is `named` becomes files (`source`), and these become `row`s, each a document or why
//! there is none. `inputs` looks at everything once before the first request, so that a mistake costs nothing, and reads it
//! again, piece by piece, while the batch runs (`prefetch`).

mod error;
mod fingerprint;
mod input_warnings;
mod inputs;
mod lines;
mod named;
mod packing;
mod prefetch;
mod row;
mod source;
mod spool;
mod surrogates;
mod table;
mod text;

pub use self::error::InputError;
pub(crate) use self::fingerprint::IdPrint;
pub use self::fingerprint::{ChatFingerprint, Fingerprint};
pub use self::inputs::Inputs;
pub use self::prefetch::Prefetch;
pub use self::row::{Row, Unusable};
pub use self::table::Columns;
