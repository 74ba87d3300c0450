//! Warnings about the input, in words: said once of a kind, with the first place, however many documents it concerns.

use super::row::{Placed, Row};
use crate::tokens::estimated;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct InputWarnings {
    unusable: Found,
    mended: Found,
    large: Found,
}

/// How often, and the first one in words.
#[derive(Debug, Default)]
struct Found {
    count: u64,
    first: String,
}

impl Found {
    fn add(&mut self, first: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = first();
        }
        self.count += 1;
    }

    /// What is said of it.
    fn said(&self, one: &str, many: &str) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(format!("1 document {one}: {}", self.first)),
            count => Some(format!("{count} documents {many}, the first: {}", self.first)),
        }
    }
}

impl InputWarnings {
    pub(super) fn add(&mut self, placed: &Placed, place: impl Fn() -> String) {
        if let Row::Unusable(unusable) = &placed.row {
            self.unusable.add(|| unusable.message.clone());
        }
        if placed.is_mended {
            self.mended.add(&place);
        }
        let bytes = placed.row.bytes();
        if bytes > LARGE_BYTES {
            let (megabytes, tokens) = (bytes as f64 / 1e6, estimated(bytes as u64) as f64 / 1e6);
            self.large.add(|| format!("{}, {megabytes:.1} MB, some {tokens:.1} million tokens", place()));
        }
    }

    /// What is wrong if nothing of so many documents can be used.
    pub(super) fn of_all(&self, count: u64) -> Option<String> {
        (count > 0 && self.unusable.count == count).then(|| self.unusable.first.clone())
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let said = [
            self.unusable.said("cannot be used and fails", "cannot be used and fail"),
            self.mended.said(
                "has half a surrogate pair, which is replaced by U+FFFD",
                "have half a surrogate pair, which is replaced by U+FFFD",
            ),
            self.large.said("is larger than most models take", "are larger than most models take"),
        ];
        said.into_iter().flatten().collect()
    }
}

/// A million tokens, at four bytes each: what the largest context windows hold.
const LARGE_BYTES: usize = 4_000_000;
