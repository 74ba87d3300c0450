//! Patience: how long a batch stands still before what waits is put off.

use becalm_policy::{
    Action, Delay, DocumentKey, Ending, Epoch, Machine, Now, PostponeReason, Rate, Reply, Settings, Tick, Unit,
};

struct Clock(Now);

impl Clock {
    fn new() -> Self {
        Self(Now { tick: Tick::from_ms(0), epoch: Epoch::from_ms(1_796_040_000_000) })
    }

    /// Lets the machine work until it waits or is done; what it sent, and how documents ended.
    fn settle(&mut self, machine: &mut Machine) -> (Vec<DocumentKey>, Vec<Ending>) {
        let (mut sent, mut ended) = (vec![], vec![]);
        loop {
            match machine.next_action(self.0) {
                Action::Send { document, .. } => sent.push(document),
                Action::Finish { outcome, .. } => ended.push(outcome.ending),
                Action::Wait(Some(until)) if sent.is_empty() && ended.is_empty() => self.go_to(until),
                Action::Wait(_) | Action::Idle => return (sent, ended),
                Action::Abort { .. } | Action::Tell(_) => {}
            }
        }
    }

    fn go_to(&mut self, tick: Tick) {
        self.0 = Now { epoch: self.0.epoch_at(tick), tick };
    }
}

fn refusal(seconds: &str) -> Reply {
    Reply { status: 429, headers: [("retry-after", seconds)].into_iter().collect(), body: vec![] }
}

fn answer() -> Reply {
    Reply { status: 200, body: br#"{"choices":[{"message":{"content":"ok"}}]}"#.into(), ..Reply::default() }
}

#[test]
fn a_hint_beyond_patience_postpones_to_where_it_points() {
    let (mut clock, mut machine) = (Clock::new(), Machine::new(Settings::default(), 1));
    machine.submit(1);
    machine.submit(1);
    let (sent, _) = clock.settle(&mut machine);
    machine.handle_reply(sent[0], &refusal("3601"), clock.0);
    let (_, ended) = clock.settle(&mut machine);
    let Ending::Postponed(postponement) = &ended[0] else { panic!("{ended:?}") };
    assert_eq!(postponement.reason, PostponeReason::Patience);
    assert!(postponement.until >= Some(Tick::from_ms(3_601_000)));
    assert!(postponement.until <= Some(Tick::from_ms(3_603_000)));
}

#[test]
fn refusals_without_an_answer_end_when_patience_does() {
    let settings = Settings { max_in_flight: 1, ..Settings::default() };
    let (mut clock, mut machine) = (Clock::new(), Machine::new(settings, 1));
    machine.submit(1);
    let mut refusals = 0;
    let ended = loop {
        let (sent, ended) = clock.settle(&mut machine);
        let [document] = sent[..] else { break ended };
        machine.handle_reply(document, &refusal("60"), clock.0);
        refusals += 1;
    };
    assert!(matches!(&ended[..], [Ending::Postponed(_)]), "{ended:?}");
    // Who is told the same again after having waited waits twice as long.
    assert_eq!(refusals, 6, "an hour has waits of 1, 1, 2, 4, 8, 16 and 32 minutes, and ends within the last");
}

#[test]
fn waiting_for_a_long_window_is_no_refusal() {
    let rate = Rate { unit: Unit::Requests, amount: 1, window: Delay::from_secs(50 * 60) };
    let settings = Settings { rates: vec![rate], ..Settings::default() };
    let (mut clock, mut machine) = (Clock::new(), Machine::new(settings, 1));
    machine.submit(1);
    machine.submit(1);
    let (sent, _) = clock.settle(&mut machine);
    machine.handle_reply(sent[0], &answer(), clock.0);
    let (_, ended) = clock.settle(&mut machine);
    assert!(matches!(&ended[..], [Ending::Answered(_)]));
    let (sent, _) = clock.settle(&mut machine);
    assert!(clock.0.tick > Tick::from_ms(50 * 60_000));
    machine.handle_reply(sent[0], &refusal("900"), clock.0);
    let (sent, ended) = clock.settle(&mut machine);
    assert_eq!((sent.len(), ended.len()), (1, 0), "the answer 50 min ago is no reason to give up");
}

#[test]
fn an_endpoint_that_starts_up_is_waited_for() {
    let (mut clock, mut machine) = (Clock::new(), Machine::new(Settings::default(), 1));
    machine.submit(1);
    let starting = Reply { status: 503, ..Reply::default() };
    let ready_at = Tick::from_ms(150_000);
    loop {
        let (sent, ended) = clock.settle(&mut machine);
        assert!(ended.is_empty(), "{ended:?}");
        let is_ready = clock.0.tick >= ready_at;
        let reply = if is_ready { answer() } else { starting.clone() };
        machine.handle_reply(sent[0], &reply, clock.0);
        if is_ready {
            break;
        }
    }
    assert!(matches!(&clock.settle(&mut machine).1[..], [Ending::Answered(_)]));
    assert!(clock.0.tick < Tick::from_ms(150_000 + 60_000), "one step of the back-off later at most");
}

#[test]
fn an_endpoint_that_never_starts_up_is_given_up() {
    let (mut clock, mut machine) = (Clock::new(), Machine::new(Settings::default(), 1));
    machine.submit(1);
    let starting = Reply { status: 503, ..Reply::default() };
    let ended = loop {
        let (sent, ended) = clock.settle(&mut machine);
        let [document] = sent[..] else { break ended };
        machine.handle_reply(document, &starting, clock.0);
    };
    assert!(matches!(&ended[..], [Ending::Failed(_)]), "{ended:?}");
    let minutes = clock.0.tick.as_ms() / 60_000;
    assert!((10..16).contains(&minutes), "{minutes} min");
}
