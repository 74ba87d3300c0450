//! The policy by itself: whole batches through the bare machine, with answers that come at once. Time per document has to
//! stay the same however large the batch is.

use std::collections::VecDeque;

use becalm_policy::{Action, Delay, Epoch, Headers, Machine, Now, Rate, Reply, Settings, Tick, Unit};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// No limit is known, and none is met.
#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn without_a_limit(bencher: Bencher, documents: u32) {
    bencher
        .counter(ItemsCount::new(documents))
        .bench_local(|| bring_home(Settings::default(), documents, Headers::default()));
}

/// A limit of 1,000 per second, and the log that keeps to it; time passes as the machine asks for it.
#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn with_a_limit(bencher: Bencher, documents: u32) {
    let rate = Rate { unit: Unit::Requests, amount: 1_000, window: Delay::from_secs(1) };
    let settings = Settings { rates: vec![rate], ..Settings::default() };
    bencher
        .counter(ItemsCount::new(documents))
        .bench_local(|| bring_home(settings.clone(), documents, Headers::default()));
}

/// Every answer states a budget that nobody uses up, as an OpenAI-compatible endpoint does.
#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn with_headers_stated(bencher: Bencher, documents: u32) {
    let fields = [
        ("content-type", "application/json"),
        ("x-request-id", "req_0123456789"),
        ("x-ratelimit-limit-requests", "1000000"),
        ("x-ratelimit-remaining-requests", "999990"),
        ("x-ratelimit-reset-requests", "60ms"),
    ];
    let headers = fields.into_iter().collect::<Headers>();
    let bring_home = || bring_home(Settings::default(), documents, headers.clone());
    bencher.counter(ItemsCount::new(documents)).bench_local(bring_home);
}

/// Submits, sends, answers and finishes every document.
fn bring_home(settings: Settings, documents: u32, headers: Headers) -> u64 {
    let mut machine = Machine::new(settings, 1);
    let mut now = Now { tick: Tick::from_ms(0), epoch: Epoch::from_ms(1_796_040_000_000) };
    let body = br#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
    let reply = Reply { status: 200, headers, body: body.to_vec() };
    let mut on_wire = VecDeque::new();
    for _ in 0..documents {
        machine.submit(100);
    }
    loop {
        match machine.next_action(now) {
            Action::Send { document, .. } => on_wire.push_back(document),
            Action::Wait(until) => match (on_wire.pop_front(), until) {
                (Some(document), _) => machine.handle_reply(document, &reply, now),
                (None, Some(until)) => now = Now { epoch: now.epoch_at(until), tick: until },
                (None, None) => unreachable!("it waits for nothing"),
            },
            Action::Idle => break,
            Action::Finish { .. } | Action::Abort { .. } | Action::Tell(_) => {}
        }
    }
    assert_eq!(machine.tally().answered, u64::from(documents));
    machine.tally().answered
}
