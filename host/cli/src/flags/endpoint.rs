//! How the endpoint is reached, and with which key, as flags.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use becalm::{Access, Header, Route, Settings};

use crate::flags::values::header;

/// The way there.
#[derive(Debug, clap::Args)]
pub(crate) struct EndpointFlags {
    /// The environment's variable with the key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "NAME", help_heading = "Endpoint")]
    key_env: Option<String>,
    /// The header that carries the key as it is, such as api-key [default: authorization, as a bearer token]
    #[arg(long, value_name = "NAME", help_heading = "Endpoint")]
    key_header: Option<String>,
    /// A header of every request, 'name: value'; no secrets, for the sandbox sees it
    #[arg(long, value_name = "LINE", value_parser = header, help_heading = "Endpoint")]
    header: Vec<(String, String)>,
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

    /// Access to this endpoint, and the name of the variable with the key, if there is one.
    pub(crate) fn access(&self, base_url: &str) -> Result<(Access, Option<&str>)> {
        let variable = self.key_env.as_deref().unwrap_or("OPENAI_API_KEY");
        let key = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
        if key.is_none() && self.key_env.is_some() {
            return Err(anyhow!("there is no key in {variable}\nhint: --key-env names the variable that holds it"));
        }
        let has_key = key.is_some();
        let access = match &self.key_header {
            Some(name) => Access::with_key_header(base_url, key, name)?,
            None => Access::new(base_url, key)?,
        };
        Ok((access, has_key.then_some(variable)))
    }

    /// Adds the headers of every request.
    pub(crate) fn add_headers(&self, settings: &mut Settings) {
        let headers = self.header.iter().map(|(name, value)| Header { name: name.clone(), value: value.clone() });
        settings.endpoint.headers.extend(headers);
    }
}
