//! A batch at work, in real time and in virtual time: `feeder` feeds the session and pulls from it, `running` takes in what
//! happens, `stop` ends it early, `earlier` is what runs before this one brought home. `forecast` and `plan_tally` are what
//! `becalm plan` finds.

pub(crate) mod best_time;
pub(crate) mod earlier;
pub(crate) mod feeder;
pub(crate) mod file_limit;
pub(crate) mod forecast;
pub(crate) mod plan_tally;
pub(crate) mod running;
pub(crate) mod stop;
