//! What is fuzzed: every parser by itself, and the machine as a whole. A target takes any bytes and must not panic, overflow
//! or hang, and what it says has to hold for all of them. `make fuzz` runs each under libFuzzer; `tests/totality.rs` runs
//! them with inputs from a fixed seed, on any toolchain.

use becalm_policy::{
    About, Action, Delay, DocumentKey, Epoch, Hint, Hints, Machine, Now, Rate, Reply, Settings, Tick, TransportError,
    Unit, Verdict, judge, judge_transport,
};

pub(crate) type Target = fn(&[u8]);

/// Each target by its name.
pub(crate) const TARGETS: [(&str, Target); 10] = [
    ("retry_after", retry_after),
    ("retry_after_ms", retry_after_ms),
    ("http_date", http_date),
    ("reset", reset),
    ("rate_limit", rate_limit),
    ("body", body),
    ("message", message),
    ("answer", answer),
    ("error_body", error_body),
    ("machine", machine),
];

/// `Retry-After` of any value.
pub(crate) fn retry_after(data: &[u8]) {
    let value = text(data);
    let hint = wait(&[("retry-after", &value)]);
    assert!(hint.is_none_or(|hint| hint.source == "retry-after"));
    if let Ok(seconds) = value.parse::<u32>() {
        let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
        assert_eq!(hint.map(|hint| hint.wait), is_plain.then(|| Delay::from_secs(seconds.into())), "{value:?}");
    }
    if !value.is_ascii() {
        assert_eq!(hint, None, "{value:?}");
    }
}

/// `retry-after-ms` of any value.
pub(crate) fn retry_after_ms(data: &[u8]) {
    let value = text(data);
    let hint = wait(&[("retry-after-ms", &value)]);
    if let Some(ms) = value.parse::<u32>().ok().filter(|_| value.bytes().all(|byte| byte.is_ascii_digit())) {
        assert_eq!(hint.map(|hint| hint.wait), Some(Delay::from_ms(ms.into())), "{value:?}");
    }
}

/// Dates: one for the server's clock and one to wait for, parted by a line feed.
pub(crate) fn http_date(data: &[u8]) {
    let value = text(data);
    let (date, until) = value.split_once('\n').unwrap_or(("", &value));
    let hint = wait(&[("date", date), ("retry-after", until)]);
    // A date has a year of at most four digits.
    let is_a_date = until.contains(':');
    assert!(hint.is_none_or(|hint| !is_a_date || hint.wait < Delay::from_secs(10_000 * 366 * 86_400)), "{value:?}");
}

/// The reset of an empty budget, under each of the names.
pub(crate) fn reset(data: &[u8]) {
    let value = text(data);
    for (remaining, reset) in [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
        ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ] {
        let hint = wait(&[(remaining, "0"), (reset, &value)]);
        assert!(hint.is_none_or(|hint| hint.source == reset));
        assert_eq!(wait(&[(remaining, "1"), (reset, &value)]), None, "{value:?} of a budget that is not empty");
    }
}

/// `RateLimit` and `RateLimit-Policy` of the IETF draft.
pub(crate) fn rate_limit(data: &[u8]) {
    let value = text(data);
    let hint = wait(&[("ratelimit", &value)]);
    assert!(hint.is_none() || value.contains("r=0"), "{value:?}");
    let headers = [("ratelimit-policy", value.as_str())].into_iter().collect();
    let hints = Hints::read(&Reply { status: 200, headers, body: vec![] }, NOW);
    assert!(hints.rates.iter().all(|rate| rate.amount > 0 && !rate.window.is_zero()), "{value:?}");
}

/// The body of a refusal.
pub(crate) fn body(data: &[u8]) {
    let reply = Reply { status: 429, body: data.to_vec(), ..Reply::default() };
    let hint = Hints::read(&reply, NOW).wait;
    assert!(hint.is_none_or(|hint| hint.source == "body"));
    assert!(!matches!(judge(&reply, hint, &About::default()), Verdict::Answered(_)));
}

/// The message of a refusal.
pub(crate) fn message(data: &[u8]) {
    let message = text(data);
    let body = serde_json::json!({"error": {"message": message}}).to_string().into_bytes();
    let hint = Hints::read(&Reply { status: 429, body, ..Reply::default() }, NOW).wait;
    let has_a_digit = message.bytes().any(|byte| byte.is_ascii_digit());
    assert!(hint.is_none() || has_a_digit, "{message:?}");
}

/// The body of a success.
pub(crate) fn answer(data: &[u8]) {
    let reply = Reply { status: 200, body: data.to_vec(), ..Reply::default() };
    if let Verdict::Answered(answer) = judge(&reply, None, &About::default()) {
        assert!(answer.text.is_some() || answer.note.is_some());
        assert_eq!(answer.body.as_bytes(), data);
    }
}

/// The body of an error, under every status that reads it.
pub(crate) fn error_body(data: &[u8]) {
    for status in [301, 400, 401, 402, 403, 404, 413, 415, 429, 500, 503] {
        let reply = Reply { status, body: data.to_vec(), ..Reply::default() };
        match judge(&reply, None, &About::default()) {
            Verdict::Answered(_) | Verdict::TurnedAway(_) => panic!("{status} is no answer, and came from somebody"),
            Verdict::Denied(failure) | Verdict::Final(failure, _) => {
                assert!(failure.message.starts_with("HTTP "), "{}", failure.message);
            }
            Verdict::Refused | Verdict::ConcurrencyLimited | Verdict::Retry(_) => {}
        }
    }
}

/// A batch against an endpoint that does what the bytes say: it ends, and every document has one outcome.
pub(crate) fn machine(data: &[u8]) {
    let [settings, data @ ..] = data else { return };
    let mut script = data.iter().copied();
    let mut machine = Machine::new(told(*settings), u64::from(*settings));
    let mut now = Now { tick: Tick::from_ms(0), epoch: NOW };
    let mut on_wire = Vec::<DocumentKey>::new();
    let mut left = 6;
    for n in 0..left {
        machine.submit(100 * n);
    }
    // Each byte is a reply, and after the last all is answered.
    for _ in 0..100 * (data.len() + 20) {
        match machine.next_action(now) {
            Action::Send { document, .. } => on_wire.push(document),
            Action::Abort { document } => on_wire.retain(|other| *other != document),
            Action::Finish { .. } => left -= 1,
            Action::Tell(_) => {}
            Action::Idle => {
                assert_eq!(left, 0, "every document has an outcome");
                return;
            }
            Action::Wait(until) => {
                assert!(until.is_some() || !on_wire.is_empty(), "it waits for nothing");
                let turn = script.next().unwrap_or(0);
                let passes = until.filter(|_| on_wire.is_empty() || turn % 7 == 6);
                match passes {
                    Some(until) => now = Now { epoch: now.epoch_at(until), tick: until.max(now.tick) },
                    None => {
                        now = Now { epoch: now.epoch + Delay::from_ms(50), tick: now.tick + Delay::from_ms(50) };
                        let document = on_wire.remove(usize::from(turn) % on_wire.len());
                        happen(&mut machine, document, turn, now);
                    }
                }
            }
        }
    }
    panic!("it does not end");
}

fn told(byte: u8) -> Settings {
    let rate = Rate { unit: Unit::Requests, amount: u64::from(byte % 5), window: Delay::from_secs(10) };
    let tokens = Rate { unit: Unit::Tokens, amount: 450, window: Delay::from_secs(30) };
    let rates = [(rate.amount > 0).then_some(rate), (byte & 64 > 0).then_some(tokens)];
    Settings {
        max_in_flight: u32::from(byte % 3) + 1,
        rates: rates.into_iter().flatten().collect(),
        fallback_wait: (byte & 128 > 0).then_some(Delay::from_secs(5)),
        max_attempts: 3,
        patience: Delay::from_secs(600),
        ..Settings::default()
    }
}

fn happen(machine: &mut Machine, document: DocumentKey, turn: u8, now: Now) {
    let wait = (turn / 16).to_string();
    let (status, headers, body) = match turn % 16 {
        0..=3 => (200, vec![], COMPLETION),
        4 | 5 => (429, vec![("retry-after", wait.as_str())], ""),
        6 => (429, vec![], ""),
        7 => (429, vec![], r#"{"error":{"code":"concurrency_limit_exceeded"}}"#),
        8 => (503, vec![("retry-after", wait.as_str())], ""),
        9 => (503, vec![], ""),
        10 => (
            200,
            vec![("x-ratelimit-limit-requests", wait.as_str()), ("x-ratelimit-remaining-requests", "1")],
            COMPLETION,
        ),
        11 => (
            429,
            vec![
                ("x-ratelimit-limit-requests", wait.as_str()),
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "7s"),
            ],
            "",
        ),
        12 => (404, vec![], ""),
        13 => (200, vec![], "cut off {"),
        14 => return machine.handle_transport_error(document, TransportError::ConnectionRefused, now),
        _ => {
            let error = TransportError::ALL[usize::from(turn) % TransportError::ALL.len()];
            assert!(!matches!(judge_transport(error), Verdict::Answered(_)));
            return machine.handle_transport_error(document, error, now);
        }
    };
    let reply = Reply { status, headers: headers.into_iter().collect(), body: body.into() };
    machine.handle_reply(document, &reply, now);
}

fn wait(fields: &[(&str, &str)]) -> Option<Hint> {
    let reply = Reply { status: 429, headers: fields.iter().copied().collect(), body: vec![] };
    let hints = Hints::read(&reply, NOW);
    assert!(hints.ignored.len() <= fields.len());
    hints.wait
}

/// As the component makes text of a field.
fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// 2026-11-30T12:00:00Z
const NOW: Epoch = Epoch::from_ms(1_796_040_000_000);
const COMPLETION: &str = r#"{"choices":[{"message":{"content":"ok"}}]}"#;
