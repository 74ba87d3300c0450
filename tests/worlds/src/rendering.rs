//! How a server puts into HTTP what it decided.

use becalm_policy::{Headers, Reply};
use jiff::Timestamp;
use jiff::fmt::{StdFmtWrite, rfc2822::DateTimePrinter};

use crate::limiter::Budget;
use crate::world::{HintStyle, ResetStyle};

/// Names and values.
pub(crate) type Fields = Vec<(String, String)>;

/// A completion that took so many tokens.
pub(crate) fn completion(tokens: u64, fields: Fields) -> Reply {
    let body = format!(
        r#"{{"choices":[{{"message":{{"content":"ok"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{tokens},"completion_tokens":0}}}}"#
    );
    Reply { status: 200, headers: Headers::from_iter(fields), body: body.into() }
}

/// An error.
pub(crate) fn error(status: u16, body: &str, fields: Fields) -> Reply {
    Reply { status, headers: Headers::from_iter(fields), body: body.into() }
}

/// A wait, as this server says it.
pub(crate) fn hint(style: HintStyle, wait_ms: f64, epoch_ms: u64) -> Fields {
    match style {
        HintStyle::None => vec![],
        HintStyle::Exact => vec![field("retry-after-ms", (wait_ms.ceil() as u64).to_string())],
        HintStyle::RoundedUp => vec![retry_after((wait_ms / 1e3).ceil())],
        HintStyle::Date => {
            let opens_s = ((epoch_ms as f64 + wait_ms) / 1e3).ceil() as u64;
            vec![field("date", date(epoch_ms / 1_000)), field("retry-after", date(opens_s))]
        }
        HintStyle::Short(ms) | HintStyle::Long(ms) => vec![retry_after(ms as f64 / 1e3)],
    }
}

/// `Retry-After` in seconds, with a fraction if there is one.
pub(crate) fn retry_after(seconds: f64) -> (String, String) {
    field("retry-after", seconds.to_string())
}

/// The state of the limit, as OpenAI says it.
pub(crate) fn budget(style: ResetStyle, budget: &Budget) -> Fields {
    let reset = match style {
        ResetStyle::End => budget.end_ms,
        ResetStyle::Slot => budget.slot_ms,
        ResetStyle::Full => budget.full_ms,
    };
    vec![
        field("x-ratelimit-limit-requests", budget.amount.to_string()),
        field("x-ratelimit-remaining-requests", budget.remaining.to_string()),
        field("x-ratelimit-reset-requests", go_duration(reset.max(0.0).ceil() as u64)),
    ]
}

/// `1h0m2.5s`, `12.345s`, `17ms`: as Go prints it.
fn go_duration(ms: u64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, (ms % 60_000) as f64 / 1e3);
    match (hours, minutes) {
        (0, 0) if (1..1_000).contains(&ms) => format!("{ms}ms"),
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// An HTTP-date.
fn date(epoch_s: u64) -> String {
    let mut text = String::new();
    let printed = Timestamp::from_second(epoch_s as i64)
        .and_then(|at| DateTimePrinter::new().print_timestamp_rfc9110(&at, StdFmtWrite(&mut text)));
    printed.expect("the year has four digits");
    text
}

fn field(name: &str, value: String) -> (String, String) {
    (name.to_string(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_durations_are_as_servers_write_them() {
        assert_eq!(date(1_796_040_120), "Mon, 30 Nov 2026 12:02:00 GMT");
        for (ms, text) in [(0, "0s"), (17, "17ms"), (12_345, "12.345s"), (62_500, "1m2.5s"), (3_600_000, "1h0m0s")] {
            assert_eq!(go_duration(ms), text);
        }
    }

    #[test]
    fn a_date_is_rounded_at_both_ends() {
        let fields = hint(HintStyle::Date, 1_000.0, 1_796_040_000_500);
        assert_eq!(fields[0].1, "Mon, 30 Nov 2026 12:00:00 GMT");
        assert_eq!(fields[1].1, "Mon, 30 Nov 2026 12:00:02 GMT");
    }
}
