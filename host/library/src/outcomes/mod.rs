//! Outcomes on their way out: one line each in the output file (`line`), which is the journal that a later run goes on
//! from (`journal`, `past`), and the figures of a run (`figures`) against the best possible time (`bound`).

mod bound;
mod figures;
mod journal;
mod line;
mod past;
mod spending;

pub use self::bound::bound;
pub use self::figures::{Figures, percentile};
pub use self::journal::{Journal, JournalError, past};
pub use self::line::line;
pub use self::past::{Before, Past};
pub use self::spending::{Prices, Spending, Tokens};
