//! Nothing overflows, and nothing stands still: numbers as large as can be, and what every learner has to keep to.

use becalm_policy::learner::{Cycles, Learner, Refused, Rules, Sent, Turn as Permit};
use becalm_policy::{Action, Delay, Epoch, Machine, Now, Rate, Reply, Settings, Tick, Unit};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// Time passes.
    Pass(u64),
    /// As many go as may, up to so many.
    Go(usize),
    /// The n-th on the wire ends.
    Admit(usize),
    Refuse {
        which: usize,
        hint: Option<u64>,
        spread: u64,
        is_explained: bool,
        names_places: bool,
        known: Option<(u64, u64)>,
    },
    Withdraw(usize),
}

/// Small numbers, large numbers, and the largest.
fn any_ms() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1..10_000_u64, 3 => 1..2_678_400_000_u64, 1 => Just(u64::MAX), 1 => any::<u64>().prop_map(|n| n.max(1))]
}

fn step() -> impl Strategy<Value = Step> {
    let known = proptest::option::of((prop_oneof![1..100_u64, Just(1_000_000_000)], 1..2_678_400_000_u64));
    let refusal = (any::<usize>(), proptest::option::of(any_ms()), 0..2_001_u64, any::<bool>(), any::<bool>(), known);
    prop_oneof![
        4 => prop_oneof![9 => 0..5_000_u64, 1 => 0..2_678_400_000_u64].prop_map(Step::Pass),
        5 => (1..20_usize).prop_map(Step::Go),
        5 => any::<usize>().prop_map(Step::Admit),
        3 => refusal.prop_map(|(which, hint, spread, is_explained, names_places, known)| {
            // What names places comes without a hint.
            let hint = hint.filter(|_| !names_places);
            Step::Refuse { which, hint, spread, is_explained, names_places, known }
        }),
        1 => any::<usize>().prop_map(Step::Withdraw),
    ]
}

/// What a caller of a learner has to do with it.
struct Caller {
    learner: Box<dyn Learner>,
    now: Tick,
    ticket: u64,
    wire: Vec<Sent>,
    /// Nothing may go before: what the latest refusals said.
    hinted: Tick,
}

impl Caller {
    /// Asks twice, which makes no difference, and checks what is said.
    fn permit(&mut self) -> Permit {
        let mut ask = || self.learner.turn(self.now, self.wire.len(), 100);
        let permit = ask();
        assert_eq!(permit, ask(), "asking changes the answer");
        match permit {
            Permit::Go => assert!(self.now >= self.hinted, "it goes before the hint"),
            Permit::Wait(until, _) => assert!(until > self.now, "a wait for what is past"),
            Permit::AfterAnswer => assert!(!self.wire.is_empty(), "it waits for an answer of nobody"),
        }
        permit
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Pass(ms) => self.now = self.now + Delay::from_ms(*ms),
            Step::Go(most) => {
                for _ in 0..*most {
                    if self.permit() != Permit::Go {
                        break;
                    }
                    self.wire.push(self.learner.sent(self.ticket, self.now, self.wire.len()));
                    self.ticket += 1;
                }
            }
            Step::Admit(which) => {
                if let Some(sent) = self.off_wire(*which) {
                    self.learner.admitted(sent, self.now);
                }
            }
            Step::Withdraw(which) => {
                if let Some(sent) = self.off_wire(*which) {
                    self.learner.withdrawn(sent, self.now);
                }
            }
            Step::Refuse { which, hint, spread, is_explained, names_places, known } => {
                let Some(sent) = self.off_wire(*which) else { return };
                let hint = hint.map(Delay::from_ms);
                let known =
                    known.map(|(amount, window)| Rate { unit: Unit::Requests, amount, window: Delay::from_ms(window) });
                let refusal = Refused {
                    hint,
                    spread: Delay::from_ms(*spread),
                    is_explained: *is_explained,
                    names_places: *names_places,
                    known,
                    on_wire: self.wire.len(),
                    waiting: 100,
                };
                self.learner.refused(sent, refusal, self.now);
                self.hinted = self.hinted.max(self.now + hint.unwrap_or_default());
            }
        }
    }

    fn off_wire(&mut self, which: usize) -> Option<Sent> {
        let len = self.wire.len();
        (len > 0).then(|| self.wire.remove(which % len))
    }

    /// Whatever happened: if it waits as it is told, and answers come, it goes soon.
    fn gets_on(&mut self) {
        for _ in 0..1_000 {
            match self.permit() {
                Permit::Go => return,
                // Nobody waits that long; sums saturate there.
                Permit::Wait(until, _) if until.as_ms() > u64::MAX / 2 => return,
                Permit::Wait(until, _) => self.now = until,
                Permit::AfterAnswer => self.take(&Step::Admit(0)),
            }
        }
        panic!("it waits for ever");
    }
}

/// What holds of every learner: it never goes before a hint, waits only for what will be, asking changes nothing, and it
/// always gets on.
fn conforms(make: impl Fn() -> Box<dyn Learner>, steps: &[Step], start: u64) {
    let (learner, now) = (make(), Tick::from_ms(start));
    let mut caller = Caller { learner, now, ticket: 0, wire: vec![], hinted: Tick::default() };
    for step in steps {
        caller.take(step);
    }
    caller.gets_on();
}

fn machine(rates: Vec<Rate>) -> Machine {
    Machine::new(Settings { rates, patience: Delay::MAX, max_attempts: 1_000, ..Settings::default() }, 1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_learner_keeps_to_what_every_learner_has_to(
        steps in vec(step(), 0..120), start in prop_oneof![Just(0), Just(u64::MAX / 2 - 1), 0..1_u64 << 50], most in 1..65_usize,
    ) {
        conforms(|| Box::new(Cycles::new(most, Rules::ALL)), &steps, start);
    }
}

/// Sends whatever may go and answers it so, so many times; time passes as the machine wants.
fn refuse_all(machine: &mut Machine, mut now: Now, hints: impl Fn(u64) -> Option<u64>, times: u64) {
    let (mut wire, mut refused) = (vec![], 0);
    for _ in 0..16 {
        machine.submit(1_000_000_000);
    }
    for _ in 0..20 * times {
        match machine.next_action(now) {
            Action::Send { document, .. } => wire.push(document),
            Action::Finish { .. } => {
                machine.submit(1_000_000_000);
            }
            Action::Wait(until) => match wire.pop() {
                Some(document) => {
                    refused += 1;
                    let headers = hints(refused).iter().map(|ms| ("retry-after-ms", ms.to_string())).collect();
                    machine.handle_reply(document, &Reply { status: 429, headers, ..Reply::default() }, now);
                }
                None => {
                    let tick = until.expect("it waits for something");
                    assert!(tick > now.tick);
                    now = Now { epoch: now.epoch_at(tick), tick };
                }
            },
            Action::Idle => panic!("documents wait"),
            Action::Abort { .. } | Action::Tell(_) => {}
        }
        if refused == times || now.tick.as_ms() > u64::MAX / 4 * 3 {
            return;
        }
    }
    panic!("it stalls after {refused} refusals");
}

/// By waiting, nobody gets so far: pauses grow. So they come without any.
#[test]
fn a_million_refusals_are_no_more_than_many() {
    let mut learner = Cycles::new(8, Rules::ALL);
    let known = Some(Rate { unit: Unit::Requests, amount: 1_000_000_000, window: Delay::from_ms(1) });
    for ticket in 0..1_000_000 {
        let now = Tick::from_ms(u64::MAX / 2 + ticket);
        let sent = learner.sent(ticket, now, 0);
        let hint = (ticket > 500_000 || ticket % 3 == 0).then_some(Delay::from_ms(1 + ticket % 2));
        let (spread, is_explained, names_places) = (Delay::ZERO, false, false);
        let refusal = Refused { hint, spread, is_explained, names_places, known, on_wire: 0, waiting: 8 };
        learner.refused(sent, refusal, now);
    }
    assert!(learner.opens_at() > Tick::from_ms(u64::MAX / 2));
}

#[test]
fn huge_hints_and_limits_neither_overflow_nor_stall() {
    let rate = |unit| Rate { unit, amount: 1_000_000_000, window: Delay::from_secs(31 * 24 * 60 * 60) };
    let now = |tick| Now { tick: Tick::from_ms(tick), epoch: Epoch::from_ms(u64::MAX / 2) };
    for hint in [1, 1_000, 86_400_000, 1 << 40, u64::MAX / 2, u64::MAX] {
        for rates in [vec![], vec![rate(Unit::Requests), rate(Unit::Tokens)]] {
            refuse_all(&mut machine(rates.clone()), now(0), |_| Some(hint), 1_000);
            refuse_all(&mut machine(rates), now(u64::MAX / 2), |n| (n % 3 > 0).then_some(hint), 1_000);
        }
    }
}
