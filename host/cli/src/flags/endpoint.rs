//! How the endpoint is reached, as flags.

use std::path::PathBuf;

use anyhow::{Context, Result};
use becalm::Route;

/// The way there.
#[derive(Debug, clap::Args)]
pub(crate) struct EndpointFlags {
    /// Certificates to trust beside the system's, in PEM form
    #[arg(long, value_name = "FILE", help_heading = "Endpoint")]
    ca_file: Option<PathBuf>,
    /// Speak HTTP/2 without asking, over plain TCP too [default: as the server offers it with TLS]
    #[arg(long, help_heading = "Endpoint")]
    http2: bool,
}

impl EndpointFlags {
    /// The route that they describe.
    pub(crate) fn route(&self) -> Result<Route> {
        let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        Ok(Route { certificates: self.ca_file.as_ref().map(read).transpose()?, http2_only: self.http2 })
    }
}
