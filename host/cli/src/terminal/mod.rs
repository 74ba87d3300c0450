//! What people see: `progress` while a batch runs, `summary` at its end, both by `reporter`, in the `words` of one place.
//! Everything goes out by `output`, where nothing that an endpoint says can become a command to the terminal (`escapes`,
//! `header_mask`).

pub(crate) mod escapes;
pub(crate) mod header_mask;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod reporter;
pub(crate) mod speed;
pub(crate) mod summary;
pub(crate) mod words;
