//! Limits that nobody stated: what is told to whoever learns them, and what is asked (`protocol`), and how it is done
//! (`cycles`). The exact logs of limits that are known stand before it (`limiter`); what a document's refusals mean for the
//! document is the machine's.

mod cycles;
mod protocol;
mod rules;

pub use self::cycles::Cycles;
pub use self::protocol::{Learner, Reason, Refused, Sent, Ticket, Turn};
pub use self::rules::{Rule, Rules};
