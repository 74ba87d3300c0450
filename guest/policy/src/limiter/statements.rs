//! Of which limits something was stated. What follows from a statement is in `stating`.

use alloc::vec::Vec;

use crate::settings::Unit;

/// What was stated so far.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// What budgets are stated of.
    pub(super) seen: Vec<Unit>,
    /// The same where the statement cannot be.
    pub(super) distrusted: Vec<Unit>,
    /// What limits are stated of with their windows.
    pub(super) exact: Vec<Unit>,
}
