//! Limits as they stand in events.

use becalm::{Admits, Rate, Unit};
use serde::{Deserialize, Serialize};

/// So much in any window of that length.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct RateLine {
    pub(crate) unit: UnitName,
    pub(crate) amount: u64,
    pub(crate) window_ms: u64,
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UnitName {
    Requests,
    Tokens,
}

/// What an endpoint admits.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum AdmitsLine {
    Rate(RateLine),
    InFlight { in_flight: u32 },
}

/// A limit, and where it is known from: `settings`, `headers` or `refusals`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LimitLine {
    #[serde(flatten)]
    pub(crate) admits: AdmitsLine,
    #[serde(default)]
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) cycles: u32,
}

impl From<Rate> for RateLine {
    fn from(Rate { unit, amount, window }: Rate) -> Self {
        let unit = match unit {
            Unit::Requests => UnitName::Requests,
            Unit::Tokens => UnitName::Tokens,
        };
        Self { unit, amount, window_ms: window }
    }
}

impl From<RateLine> for Rate {
    fn from(RateLine { unit, amount, window_ms }: RateLine) -> Self {
        let unit = match unit {
            UnitName::Requests => Unit::Requests,
            UnitName::Tokens => Unit::Tokens,
        };
        Self { unit, amount, window: window_ms }
    }
}

impl From<Admits> for AdmitsLine {
    fn from(admits: Admits) -> Self {
        match admits {
            Admits::Rate(rate) => Self::Rate(rate.into()),
            Admits::InFlight(in_flight) => Self::InFlight { in_flight },
        }
    }
}

impl From<AdmitsLine> for Admits {
    fn from(admits: AdmitsLine) -> Self {
        match admits {
            AdmitsLine::Rate(rate) => Self::Rate(rate.into()),
            AdmitsLine::InFlight { in_flight } => Self::InFlight(in_flight),
        }
    }
}
