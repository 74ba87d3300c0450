//! What the worlds of one row came to, in the four figures that have floors.

/// Of the worlds of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Of efficiency.
    pub(crate) p10: f64,
    pub(crate) median: f64,
    pub(crate) mean: f64,
    /// The 90th percentile of refusals for each hundred documents.
    pub(crate) refusals: f64,
}
