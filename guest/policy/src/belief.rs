//! What is known or believed of an endpoint's limits, and how sure that is.

use crate::settings::Rate;

/// A limit and where it was learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What the endpoint admits.
    pub admits: Admits,
    /// Where it was learnt.
    pub source: LimitSource,
    /// How many cycles in a row agree with it, if it was learnt from refusals: from 3 on it is worth setting next time. 0
    /// where it was set or stated.
    pub cycles: u32,
}

/// What an endpoint admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// So much per window.
    Rate(Rate),
    /// So many requests at one time.
    InFlight(u32),
}

/// Where a limit was learnt, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitSource {
    /// It was set.
    Settings,
    /// The endpoint states it.
    Headers,
    /// It explains the refusals that were seen.
    Refusals,
}

impl Limit {
    /// Whether it is so much like this one that telling it again is no news.
    pub(crate) fn is_near(&self, other: &Self) -> bool {
        let is_sure = |limit: &Self| limit.cycles >= SURE;
        let is_same = match (self.admits, other.admits) {
            (Admits::InFlight(one), Admits::InFlight(other)) => one == other,
            (Admits::Rate(one), Admits::Rate(other)) => one.is_near(other),
            _ => false,
        };
        is_same && is_sure(self) == is_sure(other)
    }
}

impl Rate {
    /// Whether the pace is the same but for an eighth.
    pub(crate) fn is_near(self, other: Self) -> bool {
        let pace = |one: Self, other: Self| u128::from(one.amount) * u128::from(other.window.as_ms());
        let (one, other) = (pace(self, other), pace(other, self));
        8 * one.abs_diff(other) <= one.max(other)
    }
}

/// So many cycles are no chance.
const SURE: u32 = 3;
