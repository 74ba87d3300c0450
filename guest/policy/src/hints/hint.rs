//! What one header says, or fails to say.

use alloc::string::String;

use crate::time::Delay;

/// A wait that the endpoint asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// As the endpoint meant it. Zero stands for "now" and for the past; it is no reason to be faster than otherwise.
    pub wait: Delay,
    /// The header that it came from, in lower case, or `body`.
    pub source: &'static str,
}

/// A header that was there and could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredHint {
    /// The header's name, in lower case.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}
