//! The promises, held against endpoints that answer whatever chance says: never before the hint, never more in flight or in
//! a window than allowed, exactly one outcome per document, always an end.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use becalm_policy::{
    Action, Delay, DocumentKey, Epoch, Machine, Now, Rate, Reply, Settings, Tick, TransportError, Unit,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// What the endpoint does with a request.
#[derive(Clone, Debug)]
enum Turn {
    Answer { after: u64 },
    Refuse { after: u64, hint: Option<u64> },
    Fail { after: u64, status: u16, hint: Option<u64> },
    Break { after: u64, error: TransportError },
    Silence,
}

fn turn() -> impl Strategy<Value = Turn> {
    let after = || 0..5_000_u64;
    let hint = || proptest::option::of(0..100_u64);
    prop_oneof![
        4 => after().prop_map(|after| Turn::Answer { after }),
        3 => (after(), hint()).prop_map(|(after, hint)| Turn::Refuse { after, hint }),
        2 => (after(), prop_oneof![Just(500), Just(503), Just(529), Just(400), Just(413)], hint())
            .prop_map(|(after, status, hint)| Turn::Fail { after, status, hint }),
        1 => (after(), prop_oneof![
            Just(TransportError::ConnectionRefused),
            Just(TransportError::ConnectionTerminated),
            Just(TransportError::HttpResponseIncomplete),
        ]).prop_map(|(after, error)| Turn::Break { after, error }),
        1 => Just(Turn::Silence),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let rates = vec((1..20_u64, 100..60_000_u64), 0..3);
    (1..9_u32, rates, 0..2_000_u64, 1..5_u32, 0..3_000_u64, 30_000..200_000_u64, 0..500_u64).prop_map(
        |(max_in_flight, rates, fallback, max_attempts, jitter, patience, pace)| Settings {
            max_in_flight,
            rates: rates
                .into_iter()
                .map(|(amount, window)| Rate { unit: Unit::Requests, amount, window: Delay::from_ms(window) })
                .collect(),
            pace: Delay::from_ms(pace),
            max_attempts,
            jitter: Delay::from_ms(jitter),
            patience: Delay::from_ms(patience),
            fallback_wait: (fallback > 1_000).then_some(Delay::from_ms(fallback)),
            whole_request: Delay::from_secs(30),
            ..Settings::default()
        },
    )
}

/// What was seen of a run.
#[derive(Debug, Default)]
struct Seen {
    sent: Vec<Tick>,
    /// Of these, the ones that the endpoint admitted, as far as can be known.
    admitted: Vec<Tick>,
    most_in_flight: usize,
    finished: BTreeMap<DocumentKey, u32>,
    /// After so many requests, nothing more may be sent before that.
    floors: Vec<(usize, Tick)>,
}

/// Runs a batch against an endpoint that takes its turns in order, again and again.
fn run(settings: Settings, turns: &[Turn], documents: usize, seed: u64) -> Seen {
    let mut machine = Machine::new(settings, seed);
    let mut now = Now { tick: Tick::from_ms(1_000_000), epoch: Epoch::from_ms(1_796_040_000_000) };
    let mut wire = BTreeMap::<(Tick, DocumentKey), Turn>::new();
    let mut seen = Seen::default();
    for _ in 0..documents {
        machine.submit(100);
    }
    let mut turns = turns.iter().cycle();
    for _ in 0..1_000_000 {
        match machine.next_action(now) {
            Action::Send { document, in_flight, .. } => {
                let turn = turns.next().unwrap().clone();
                seen.sent.push(now.tick);
                if may_be_admitted(&turn) {
                    seen.admitted.push(now.tick);
                }
                wire.insert((now.tick + delay(&turn), document), turn);
                seen.most_in_flight = seen.most_in_flight.max(wire.len());
                assert_eq!(in_flight as usize, wire.len());
            }
            Action::Abort { document } => wire.retain(|(_, key), _| *key != document),
            Action::Finish { document, .. } => *seen.finished.entry(document).or_default() += 1,
            Action::Tell(_) => {}
            Action::Idle => return seen,
            Action::Wait(until) => {
                let next = wire.keys().next().map(|(at, _)| *at);
                let at = until.into_iter().chain(next).min().expect("it waits for nothing");
                now = Now { epoch: now.epoch_at(at), tick: at.max(now.tick) };
                if let Some(entry) = wire.first_entry().filter(|entry| entry.key().0 <= now.tick) {
                    let ((_, document), turn) = entry.remove_entry();
                    end(&mut machine, document, &turn, now, &mut seen);
                }
            }
        }
    }
    panic!("it does not come to an end");
}

fn end(machine: &mut Machine, document: DocumentKey, turn: &Turn, now: Now, seen: &mut Seen) {
    let completion = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let (status, hint, body) = match turn {
        Turn::Answer { .. } => (200, &None, completion),
        Turn::Refuse { hint, .. } => (429, hint, ""),
        Turn::Fail { status, hint, .. } => (*status, hint, ""),
        Turn::Break { error, .. } => return machine.handle_transport_error(document, *error, now),
        Turn::Silence => unreachable!("it never answers"),
    };
    let headers = hint.iter().map(|hint| ("retry-after", hint.to_string())).collect();
    // A hint with these is for all, see the table of verdicts; with a fault it holds back that document only.
    if let (Some(hint), 429 | 413) = (hint, status) {
        seen.floors.push((seen.sent.len(), now.tick + Delay::from_secs(*hint)));
    }
    machine.handle_reply(document, &Reply { status, headers, body: body.into() }, now);
}

fn delay(turn: &Turn) -> Delay {
    match turn {
        Turn::Answer { after } | Turn::Refuse { after, .. } | Turn::Fail { after, .. } | Turn::Break { after, .. } => {
            Delay::from_ms(*after)
        }
        Turn::Silence => Delay::from_secs(1_000_000),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_document_gets_exactly_one_outcome(
        settings in settings(), turns in vec(turn(), 1..30), documents in 1..60_usize, seed in any::<u64>(),
    ) {
        let seen = run(settings, &turns, documents, seed);
        prop_assert_eq!(seen.finished.len(), documents);
        prop_assert_eq!(seen.finished.values().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1]));
    }

    #[test]
    fn nothing_is_sent_before_the_hint(
        settings in settings(), turns in vec(turn(), 1..30), documents in 1..60_usize, seed in any::<u64>(),
    ) {
        let seen = run(settings, &turns, documents, seed);
        for (sent, until) in seen.floors {
            let early = seen.sent[sent..].iter().find(|at| **at < until);
            prop_assert!(early.is_none(), "sent at {:?}, before {:?}", early, until);
        }
    }

    #[test]
    fn never_more_in_flight_and_never_faster_than_allowed(
        settings in settings(), turns in vec(turn(), 1..30), documents in 1..60_usize, seed in any::<u64>(),
    ) {
        let seen = run(settings.clone(), &turns, documents, seed);
        prop_assert!(seen.most_in_flight <= settings.max_in_flight as usize);
        for pair in seen.sent.windows(2) {
            prop_assert!(pair[1].since(pair[0]) >= settings.pace);
        }
    }
}

/// Whether an endpoint that counts what it admits may have counted this one: it was neither refused nor met by a fault in
/// front of the limit. What was cut off or stayed silent may well have been admitted.
fn may_be_admitted(turn: &Turn) -> bool {
    match turn {
        Turn::Answer { .. } | Turn::Break { .. } | Turn::Silence => true,
        Turn::Refuse { .. } => false,
        Turn::Fail { status, hint, .. } => *status == 400 || *status == 413 && hint.is_none(),
    }
}

/// Whatever is refused or fails in between, and however late it is heard of.
#[test]
fn never_more_admitted_in_a_window_than_allowed() {
    let rates = vec((1..6_u64, 10_000..60_000_u64), 1..3);
    let answers = vec((0..5_000_u64).prop_map(|after| Turn::Answer { after }), 5);
    let runs = (settings(), rates, (answers, vec(turn(), 10..30)), 50..70_usize, any::<u64>());
    let (cases, telling) = (2_000, Cell::new(0));
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&runs, |(settings, rates, turns, documents, seed)| {
        let turns = [turns.0, turns.1].concat();
        let rate = |(amount, window)| Rate { unit: Unit::Requests, amount, window: Delay::from_ms(window) };
        let rates = rates.into_iter().map(rate).collect();
        // Nothing else is to hold requests back, or to end the batch.
        let (pace, patience, max_in_flight) = (Delay::ZERO, Delay::from_secs(100_000), settings.max_in_flight + 4);
        let settings = Settings { max_in_flight, rates, pace, patience, max_attempts: 100, ..settings };
        let seen = run(settings.clone(), &turns, documents, seed);
        let mut is_telling = false;
        for rate in &settings.rates {
            // What comes of the network is allowed for.
            let least = rate.window + Delay::from_ms(350).min(rate.window.divided_by(50));
            for group in seen.admitted.windows(rate.amount as usize + 1) {
                let took = group[rate.amount as usize].since(group[0]);
                prop_assert!(took >= least, "{} in {took:?}", rate.amount + 1);
                // It was the limit that held it back.
                is_telling |= took <= least + rate.window.divided_by(20);
            }
        }
        is_telling &= seen.sent.len() > seen.admitted.len();
        telling.set(telling.get() + u32::from(is_telling));
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(
        telling.get() * 100 > cases * 80,
        "only {} of {cases} runs meet a limit and a refusal or fault",
        telling.get()
    );
}
