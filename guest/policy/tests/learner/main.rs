//! What holds of learning, whatever happened before.

mod endpoint;
mod extremes;
mod known;
mod learnt;
mod run;
mod shares;
mod worlds;
