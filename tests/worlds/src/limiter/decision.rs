//! What every limiter can be asked and told.

/// Decides whether a request is admitted.
pub(crate) trait Limiter: std::fmt::Debug + Send {
    /// When a request would be admitted, if none came before it; now, if that is now.
    fn opens_at(&mut self, now: f64, tokens: u64) -> f64;

    /// A request was admitted.
    fn admit(&mut self, now: f64, tokens: u64);

    /// A request was refused.
    fn refuse(&mut self, now: f64, tokens: u64);

    /// What limit headers say; absent where there is no limit.
    fn budget(&mut self, now: f64) -> Option<Budget>;

    /// The limit becomes so many times itself.
    fn scale(&mut self, factor: f64);
}

/// The state of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Budget {
    pub(crate) amount: u64,
    pub(crate) remaining: u64,
    /// Until the window ends.
    pub(crate) end_ms: f64,
    /// Until the next request may go.
    pub(crate) slot_ms: f64,
    /// Until nothing is used any more.
    pub(crate) full_ms: f64,
}

/// Instants that are closer than this are one: what rounding does to fractions of a window.
pub(crate) const ROUNDING: f64 = 1e-6;
