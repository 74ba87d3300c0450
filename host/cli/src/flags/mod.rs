//! Flags, and how they become settings: what was typed, or has its default in a file or the environment (`config_file`), is
//! parsed into the flags of `batch`, `endpoint` and `watching`, each value by `values`; `checked` makes settings of them that
//! hold together, or says which flag is wrong.

pub(crate) mod batch;
pub(crate) mod checked;
pub(crate) mod config_file;
pub(crate) mod endpoint;
pub(crate) mod forecast;
pub(crate) mod values;
pub(crate) mod watching;
