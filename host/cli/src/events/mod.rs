//! What programs read: `--json` and `--events`, a JSON object per line. `line` is the one form, written and read; `write`
//! makes lines of what happens; `log_file` keeps them.

pub(crate) mod limits;
pub(crate) mod line;
pub(crate) mod log_file;
pub(crate) mod write;
