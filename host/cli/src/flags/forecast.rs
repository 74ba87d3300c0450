//! What a forecast assumes of the endpoint, as flags.

use becalm::Rate;
use becalm::server::Spread;

use crate::flags::values::{rate, spread};

/// What is assumed of the endpoint.
#[derive(Debug, clap::Args)]
pub(crate) struct ForecastFlags {
    /// The limit that the endpoint enforces where none is given, and that a run has to find out
    #[arg(long, value_name = "N/SPAN", value_parser = rate, default_value = USUAL_LIMIT, help_heading = "Forecast")]
    pub(crate) assume_limit: Rate,
    /// How long an answer takes, 1s, or 2s..20s to vary
    #[arg(long, value_name = "SPAN", value_parser = spread, default_value = USUAL_LATENCY, help_heading = "Forecast")]
    pub(crate) latency: Spread,
}

const USUAL_LIMIT: &str = "60/60s";
const USUAL_LATENCY: &str = "1s";
