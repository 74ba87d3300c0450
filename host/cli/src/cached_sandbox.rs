//! The sandbox as the commands use it: compiled once for all processes of this user.

use std::path::PathBuf;

use anyhow::Result;
use becalm::Sandbox;
use etcetera::BaseStrategy;

/// The sandbox, its component from the cache if there is a place for one.
pub(crate) fn sandbox() -> Result<Sandbox> {
    Ok(folder().map_or_else(Sandbox::new, |folder| Sandbox::cached(&folder))?)
}

/// `BECALM_CACHE`, or where the system wants caches; nothing if the former is empty.
fn folder() -> Option<PathBuf> {
    match std::env::var_os("BECALM_CACHE") {
        Some(folder) => Some(folder).filter(|folder| !folder.is_empty()).map(PathBuf::from),
        None => Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("becalm")),
    }
}
