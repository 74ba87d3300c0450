//! Plays a world with the policy alone in virtual time. `tests/worlds.rs` plays some of them with the real component too, and
//! it has to be the same.

use becalm_policy::{Action, Delay, DocumentKey, Ending, Epoch, Machine, Now, Outcome, Reply, Settings, Tick};

use crate::played::Played;
use crate::schedule::Schedule;
use crate::wire::Wire;
use crate::world::{Document, World};

/// What can be watched.
#[derive(Debug)]
pub enum Seen<'a> {
    /// The policy decided something.
    Decided(&'a Action),
    /// The request of this document is at the server and gets this.
    Arrived(usize, &'a Reply),
    /// The answer to this document is at the client.
    Returned(usize, &'a Reply),
}

/// Plays a world.
pub fn play(world: &World) -> Played {
    play_watched(world, &Schedule::of(world), &mut |_, _| {})
}

/// Plays a world and tells what happens when, in milliseconds.
pub fn play_watched(world: &World, schedule: &Schedule, watch: &mut dyn FnMut(u64, Seen)) -> Played {
    let mut run = Run::new(world, schedule, watch);
    run.played.failure = run.until_the_end().err();
    run.played
}

struct Run<'a> {
    machine: Machine,
    wire: Wire,
    keys: Vec<DocumentKey>,
    documents: Vec<Document>,
    now_ms: u64,
    epoch_ms: u64,
    actions_left: usize,
    played: Played,
    watch: &'a mut dyn FnMut(u64, Seen),
}

impl<'a> Run<'a> {
    fn new(world: &World, schedule: &Schedule, watch: &'a mut dyn FnMut(u64, Seen)) -> Self {
        let documents = world.job();
        let mut machine = Machine::with_rules(settings(world), world.seed, world.rules);
        let good = documents.iter().filter(|document| !document.is_poison).count();
        Self {
            keys: documents.iter().map(|document| machine.submit(document.tokens)).collect(),
            machine,
            wire: Wire::new(world, schedule),
            now_ms: 0,
            epoch_ms: world.started_at_epoch_ms(),
            actions_left: ACTIONS_PER_DOCUMENT * documents.len() + MORE_ACTIONS,
            played: Played { schedule: *schedule, documents: good, ..Played::default() },
            documents,
            watch,
        }
    }

    fn until_the_end(&mut self) -> Result<(), String> {
        while let Some(until) = self.act()? {
            if !self.wait(until)? {
                break;
            }
        }
        Ok(())
    }

    /// Until that instant, or until answers come: what happens at the server is nothing that a client could see. Says whether
    /// there is any use in going on.
    fn wait(&mut self, until: Option<u64>) -> Result<bool, String> {
        if until.is_some_and(|until| until <= self.now_ms) {
            return Err("it waits for what has passed".into());
        }
        loop {
            let next = until.into_iter().chain(self.wire.next_at_ms()).min();
            self.now_ms = next.ok_or("it waits for nothing")?;
            if !self.is_worth_going_on() {
                return Ok(false);
            }
            if self.deliver() || until == Some(self.now_ms) {
                return Ok(true);
            }
        }
    }

    fn is_worth_going_on(&self) -> bool {
        let most_sent = (MOST_SENT_PER_DOCUMENT * self.documents.len() + MORE_SENT) as u64;
        self.played.unfinished() > 0 && self.now_ms <= self.played.cutoff_ms() && self.played.sent <= most_sent
    }

    fn now(&self) -> Now {
        Now { tick: Tick::from_ms(self.now_ms), epoch: Epoch::from_ms(self.epoch_ms + self.now_ms) }
    }

    /// Does what the policy says, until it waits; says until when. Nothing if all documents have come to their end.
    fn act(&mut self) -> Result<Option<Option<u64>>, String> {
        loop {
            self.actions_left = self.actions_left.checked_sub(1).ok_or("it spins")?;
            let action = self.machine.next_action(self.now());
            (self.watch)(self.now_ms, Seen::Decided(&action));
            match action {
                Action::Send { document, .. } => self.send(document.index()),
                Action::Abort { document } => self.wire.give_up(document.index()),
                Action::Finish { document, outcome } => self.finish(document.index(), &outcome),
                Action::Tell(_) => {}
                Action::Wait(until) => return Ok(Some(until.map(Tick::as_ms))),
                Action::Idle => return Ok(None),
            }
        }
    }

    fn send(&mut self, document: usize) {
        self.played.sent += 1;
        self.wire.send(self.now_ms, document);
    }

    fn finish(&mut self, document: usize, outcome: &Outcome) {
        match outcome.ending {
            _ if self.documents[document].is_poison => {}
            Ending::Answered(_) => self.played.answered_at_ms.push(self.now_ms),
            Ending::Failed(_) | Ending::Postponed(_) => self.played.lost += 1,
        }
    }

    /// Everything that is due. Says whether the client got an answer.
    fn deliver(&mut self) -> bool {
        let now = self.now();
        let Self { machine, wire, keys, documents, now_ms, played, watch, .. } = self;
        wire.advance(*now_ms, |document, reply| watch(*now_ms, Seen::Arrived(document, reply)));
        let mut has_answers = false;
        while let Some((document, reply)) = wire.next_returned() {
            has_answers = true;
            watch(*now_ms, Seen::Returned(document, reply));
            played.refusals += u64::from(reply.status == 429 && !documents[document].is_poison);
            machine.handle_reply(keys[document], reply, now);
        }
        has_answers
    }
}

/// What the policy is told. Patience is without end, so that it is the learner that is judged.
pub fn settings(world: &World) -> Settings {
    Settings {
        max_in_flight: world.max_in_flight,
        rates: world.known.clone(),
        patience: Delay::from_secs(31 * 24 * 60 * 60),
        ..Settings::default()
    }
}

const MOST_SENT_PER_DOCUMENT: usize = 40;
const MORE_SENT: usize = 2_000;
const ACTIONS_PER_DOCUMENT: usize = 300;
const MORE_ACTIONS: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_goes_the_same_way_every_time() {
        for world in (0..32).map(World::of_seed) {
            let (first, second) = (play(&world), play(&world));
            assert_eq!(first.answered_at_ms, second.answered_at_ms, "{world}");
            assert_eq!((first.sent, first.refusals), (second.sent, second.refusals), "{world}");
        }
    }
}
