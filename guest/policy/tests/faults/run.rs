//! One batch, in virtual time.

use std::collections::{BTreeMap, BTreeSet};

use becalm_policy::{Action, DocumentKey, Ending as End, Epoch, Machine, Now, Settings, Tick};

use crate::endpoint::{Ending, Endpoint};

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) documents: usize,
    pub(crate) outcomes: usize,
    /// Good documents that were not answered, with the reason.
    pub(crate) lost: Vec<String>,
    pub(crate) sent: u64,
    pub(crate) refused: u64,
}

impl Run {
    pub(crate) fn of(seed: u64) -> Self {
        let documents = 200 + (seed as usize * 37) % 400;
        let mut endpoint = Endpoint::of(seed, documents);
        let mut machine = Machine::new(Settings::default(), seed);
        let keys: Vec<_> = (0..documents).map(|_| machine.submit(100)).collect();
        let number = |key: DocumentKey| keys.iter().position(|other| *other == key).expect("it was submitted");
        let mut run = Self { documents, ..Self::default() };
        let mut on_wire = BTreeMap::<DocumentKey, (u64, Ending)>::new();
        let mut open = (0..documents).collect::<BTreeSet<_>>();
        let mut now_ms = 0;
        loop {
            match machine.next_action(now(now_ms)) {
                Action::Send { document, .. } => {
                    run.sent += 1;
                    let (after_ms, ending) = endpoint.answer(number(document), now_ms);
                    run.refused += u64::from(matches!(&ending, Ok(reply) if reply.status == 429));
                    on_wire.insert(document, (now_ms + after_ms, ending));
                }
                Action::Abort { document } => drop(on_wire.remove(&document)),
                Action::Finish { document, outcome } => {
                    let number = number(document);
                    run.outcomes += usize::from(open.remove(&number));
                    let is_answered = matches!(outcome.ending, End::Answered(_));
                    if !is_answered && !endpoint.is_bad(number) {
                        run.lost.push(format!("{number}: {:?}", outcome.ending));
                    }
                }
                Action::Tell(_) => {}
                Action::Wait(until) => {
                    let next =
                        on_wire.iter().min_by_key(|(_, (at_ms, _))| *at_ms).map(|(key, (at_ms, _))| (*key, *at_ms));
                    let until = until.map(Tick::as_ms);
                    match next {
                        Some((key, at_ms)) if until.is_none_or(|until| at_ms <= until) => {
                            now_ms = now_ms.max(at_ms);
                            match on_wire.remove(&key).expect("it is on the wire").1 {
                                Ok(reply) => machine.handle_reply(key, &reply, now(now_ms)),
                                Err(error) => machine.handle_transport_error(key, error, now(now_ms)),
                            }
                        }
                        _ => now_ms = until.expect("it waits for something"),
                    }
                }
                Action::Idle => return run,
            }
        }
    }
}

fn now(ms: u64) -> Now {
    Now { tick: Tick::from_ms(ms), epoch: Epoch::from_ms(1_796_040_000_000 + ms) }
}
