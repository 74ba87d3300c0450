//! Values in the words of people: spans, limits, counts, money.

use std::time::Duration;

use becalm::{Admits, Rate, Unit};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

/// A count, with a comma after every three digits.
pub(crate) fn count_in_words(count: u64) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// Money: four digits behind the point where there is little of it.
pub(crate) fn money(amount: f64) -> String {
    if amount < 1.0 { format!("{amount:.4}") } else { format!("{amount:.2}") }
}

/// Milliseconds, as the contract counts time.
pub(crate) fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The flag that says this.
pub(crate) fn flag(admits: &Admits) -> String {
    match admits {
        Admits::Rate(rate) => format!("--limit {}", limit_value(rate)),
        Admits::InFlight(requests) => format!("--max-in-flight {requests}"),
    }
}

/// The value of `--limit` that says this.
pub(crate) fn limit_value(rate: &Rate) -> String {
    let unit = match rate.unit {
        Unit::Requests => "",
        Unit::Tokens => "tokens",
    };
    match rate.window % 1_000 {
        0 => format!("{}{unit}/{}s", rate.amount, rate.window / 1_000),
        _ => format!("{}{unit}/{}ms", rate.amount, rate.window),
    }
}

/// What an endpoint admits, in words.
pub(crate) fn admits_in_words(admits: &Admits) -> String {
    match admits {
        Admits::Rate(rate) => rate_in_words(rate),
        Admits::InFlight(requests) => format!("{requests} requests in flight"),
    }
}

/// A limit of so much per window in words.
pub(crate) fn rate_in_words(rate: &Rate) -> String {
    let unit = match rate.unit {
        Unit::Requests => "requests",
        Unit::Tokens => "tokens",
    };
    format!("{} {unit} per {}", rate.amount, in_words(Duration::from_millis(rate.window)))
}

/// A span of time in words: milliseconds below a second, tenths below a minute, seconds above.
pub(crate) fn in_words(span: Duration) -> String {
    if span < Duration::from_secs(1) {
        return format!("{} ms", span.as_millis());
    }
    if span < Duration::from_secs(60) {
        return format!("{:.1} s", span.as_secs_f64());
    }
    let seconds = span.as_secs_f64().round() as u64;
    match seconds / 3_600 {
        0 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        hours => format!("{hours} h {:02} min", seconds / 60 % 60),
    }
}

/// The same for a countdown.
pub(crate) fn in_whole_seconds(span: Duration) -> String {
    if span < Duration::from_secs(60) { format!("{} s", span.as_secs()) } else { in_words(span) }
}

/// An instant since 1970 on the local clock, in a form of strftime; absent if no calendar reaches so far.
pub(crate) fn local_time(epoch_ms: u64, form: &str) -> Option<String> {
    let at = Timestamp::from_millisecond(i64::try_from(epoch_ms).ok()?).ok()?;
    Some(ZonedDateTime::new(at, TimeZone::system()).strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_money_are_said() {
        let said = [0, 999, 1_000, 1_234_567].map(count_in_words);
        assert_eq!(said, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.01234, 12.3456].map(money), ["0.0123", "12.35"]);
    }

    #[test]
    fn spans_are_said() {
        assert_eq!(in_words(Duration::from_millis(50)), "50 ms");
        assert_eq!(in_words(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(in_words(Duration::from_secs(245)), "4 min 05 s");
        assert_eq!(in_words(Duration::from_secs(7_500)), "2 h 05 min");
    }
}
