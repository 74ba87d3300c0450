//! A file for each command: its flags, its help, and what it does.

pub(crate) mod completions;
pub(crate) mod component;
pub(crate) mod demo;
pub(crate) mod man;
pub(crate) mod mock_server;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod run;
