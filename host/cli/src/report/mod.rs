//! The page of `becalm report`: `results` and `timeline` read what a batch wrote, `page` draws.

mod lines;
pub(crate) mod page;
pub(crate) mod results;
pub(crate) mod timeline;
