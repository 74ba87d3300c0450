//! Servers with a rate limit, modelled once: for `becalm mock-server` and `becalm demo` over TCP, and in process for
//! tests and plans in virtual time. All time in here is tokio's, so it can be paused.

mod in_process;
mod limiter;
mod listen;
mod model;
mod model_server;
mod reply;
mod stats;
mod window;

pub use self::in_process::InProcess;
pub use self::listen::Listening;
pub use self::model::{HINTS, HintForm, KINDS, Kind, Model, Spread};
pub use self::model_server::Server;
pub use self::stats::{Arrival, Stats};
