//! What the policy can be told beforehand, its defaults and its ranges. How a request looks and where it goes is not
//! decided here, so it is not set here either.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::time::Delay;

/// Everything that steers waiting and retrying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Requests on the wire at one time, 1 to 10,000.
    pub max_in_flight: u32,
    /// Limits that are known beforehand; all of them hold. None: they are learnt.
    pub rates: Vec<Rate>,
    /// Least time between the starts of two requests; zero: no pace.
    pub pace: Delay,
    /// Tries of one document that may end in a fault, the first included, 1 to 1,000.
    pub max_attempts: u32,
    /// First step of the back-off without a hint.
    pub base: Delay,
    /// Longest step of the back-off.
    pub cap: Delay,
    /// Spread added on top of a hinted wait.
    pub jitter: Delay,
    /// The longest wait for the next request, and the longest time of refusals without one answer.
    pub patience: Delay,
    /// Fixed wait after a refusal without a hint; absent: back-off.
    pub fallback_wait: Option<Delay>,
    /// From the start of a try to its end; a try that takes longer is aborted and counts as a fault.
    pub whole_request: Delay,
    /// For messages only.
    pub about: About,
}

/// What messages can name; nothing is decided by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Where requests go.
    pub url: String,
    /// The model that they ask for; empty if each names its own.
    pub model: String,
}

/// So much in any window of that length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// What is counted.
    pub unit: Unit,
    /// How much of it, 1 to 1,000,000,000.
    pub amount: u64,
    /// In a rolling window of this length, 1 ms to 31 days.
    pub window: Delay,
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Requests.
    Requests,
    /// Prompt tokens, estimated, plus the tokens that the answer may take.
    Tokens,
}

impl Unit {
    /// What a request with so many tokens takes.
    pub(crate) const fn cost(self, tokens: u64) -> u64 {
        match self {
            Self::Requests => 1,
            Self::Tokens => tokens,
        }
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// Path of the field, as the contract spells it.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub message: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_in_flight: 8,
            rates: vec![],
            pace: Delay::ZERO,
            max_attempts: 5,
            base: Delay::from_secs(1),
            cap: Delay::from_secs(60),
            jitter: Delay::from_secs(2),
            patience: Delay::from_secs(60 * 60),
            fallback_wait: None,
            whole_request: Delay::from_secs(15 * 60),
            about: About::default(),
        }
    }
}

impl Settings {
    /// Checks every field against its range.
    ///
    /// # Errors
    ///
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), SettingsError> {
        within("limits.max-in-flight", self.max_in_flight.into(), 1, MOST_IN_FLIGHT)?;
        within("limits.rates (their number)", self.rates.len() as u64, 0, MOST_RATES)?;
        for (index, rate) in self.rates.iter().enumerate() {
            within(&format!("limits.rates[{index}].amount"), rate.amount, 1, MOST_AMOUNT)?;
            span(&format!("limits.rates[{index}].window"), rate.window, 1, MONTH)?;
        }
        span("limits.pace", self.pace, 0, DAY)?;
        within("retry.max-attempts", self.max_attempts.into(), 1, MOST_ATTEMPTS)?;
        span("retry.base", self.base, 1, DAY)?;
        span("retry.cap", self.cap, self.base.as_ms(), DAY)?;
        span("retry.jitter", self.jitter, 0, DAY)?;
        span("retry.patience", self.patience, 1, MONTH)?;
        span("retry.fallback-wait", self.fallback_wait.unwrap_or_default(), 0, DAY)?;
        span("timeouts.whole-request", self.whole_request, 1, DAY)
    }
}

/// Checks a span of time against its range, ends included, all in milliseconds.
///
/// # Errors
///
/// Names the field, its value and its range.
pub fn span(field: &str, value: Delay, least: u64, most: Delay) -> Result<(), SettingsError> {
    in_range(field, value.as_ms(), least, most.as_ms(), " ms")
}

fn within(field: &str, value: u64, least: u64, most: u64) -> Result<(), SettingsError> {
    in_range(field, value, least, most, "")
}

fn in_range(field: &str, value: u64, least: u64, most: u64, unit: &str) -> Result<(), SettingsError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SettingsError {
        field: field.into(),
        message: format!("{value}{unit} is out of range: {least} to {most}{unit}"),
    })
}

/// No count of tokens or requests is larger, whoever names it: sums of counts do not overflow.
pub(crate) const LARGEST_COUNT: u64 = 1 << 40;
/// A day, the longest that most spans may be.
pub const DAY: Delay = Delay::from_secs(24 * 60 * 60);
const MONTH: Delay = DAY.times(31);
/// The guest's one `poll` per wake-up costs time in proportion to what is in flight.
const MOST_IN_FLIGHT: u64 = 10_000;
const MOST_RATES: u64 = 16;
const MOST_AMOUNT: u64 = 1_000_000_000;
const MOST_ATTEMPTS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range() {
        assert_eq!(Settings::default().check(), Ok(()));
    }

    #[test]
    fn an_error_names_the_field_and_its_range() {
        let settings = Settings { max_attempts: 0, ..Settings::default() };
        let error = settings.check().unwrap_err();
        assert_eq!(error.field, "retry.max-attempts");
        assert_eq!(error.message, "0 is out of range: 1 to 1000");
    }

    #[test]
    fn the_cap_is_not_below_the_base() {
        let settings = Settings { cap: Delay::from_ms(999), ..Settings::default() };
        assert_eq!(settings.check().unwrap_err().field, "retry.cap");
    }
}
