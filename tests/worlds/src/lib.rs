//! Random worlds: a server's limiter, a network and a job, all from one seed, played in virtual time with the real policy.
//! A number for each: the time of a clairvoyant that knows the server, by the time that the policy took. The order below
//! is the order in which a world is made, served, played and judged.

mod draws;

mod world;
pub use world::{Changes, Document, HintStyle, Kind, Network, ResetStyle, Stray, Tokens, World};

mod generate;

mod describe;

mod limiter;

mod admission;
mod clairvoyant;

mod rendering;

mod server;
pub use server::Server;

mod times;
pub use times::Times;

mod pacing;

mod schedule;
pub use schedule::Schedule;

mod obedient;
pub use obedient::obedient_ms;

mod events;

mod wire;
pub use wire::Wire;

mod played;
pub use played::Played;

mod play;
pub use play::{Seen, play, play_watched, settings};

mod many_worlds;
pub use many_worlds::{Case, play_seeds};

mod summary;
pub use summary::{Row, rows};

mod figures;
mod floors;
pub use floors::missed;

mod named;
pub use named::{NamedRow, named, named_world};

mod rules;
pub use rules::{RuleRow, rules};

mod reference;
pub use reference::{ReferenceRow, reference};
