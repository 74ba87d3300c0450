//! Outcomes on their way out: one line each in the output file (`result_line`), which is the journal that a later run goes on
//! from (`journal`, `result_history`), and the figures of a run (`figures`) against the best possible time (`bound`).

mod bound;
mod document_size;
mod figures;
mod journal;
mod journal_error;
mod lock;
mod recovery;
mod result_history;
mod result_line;
mod shortfall;
mod spending;
mod token_meter;

pub use self::bound::bound;
pub use self::figures::{Figures, percentile};
pub use self::journal::Journal;
pub use self::journal_error::JournalError;
pub use self::recovery::history;
pub use self::result_history::{Before, ResultHistory};
pub use self::result_line::{Becalm, Ending, Fault, Response, ResultLine, line};
pub use self::shortfall::Shortfall;
pub use self::spending::{Prices, Spending};
pub use self::token_meter::Tokens;
