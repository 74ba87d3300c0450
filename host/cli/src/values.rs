//! Values as people write them on a command line, and the way back.

use std::time::Duration;

use becalm::server::Spread;
use becalm::{Admits, Rate, Unit};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ZonedDateTime};

/// A span of time: `500ms`, `2s`, `1m30s`, `1h`, or `0`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let span =
        text.parse::<SignedDuration>().map_err(|_| "a span of time is needed, such as 500ms, 2s or 1h".to_string())?;
    Duration::try_from(span).map_err(|_| "a span of time cannot be negative".into())
}

/// A span of time, or two with `..` between: from the one to the other.
pub(crate) fn spread(text: &str) -> Result<Spread, String> {
    let Some((least, most)) = text.split_once("..") else { return span(text).map(Spread::exactly) };
    let spread = Spread::between(span(least)?, span(most)?);
    if spread.least <= spread.most { Ok(spread) } else { Err("the shorter span comes first".into()) }
}

/// A limit: `10/60s` of requests, `40000tokens/60s` of tokens.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let wrong = || "a limit is needed, such as 10/60s (10 requests in any 60 s) or 40000tokens/60s".to_string();
    let (amount, window) = text.split_once('/').ok_or_else(wrong)?;
    let amount = amount.trim();
    let (amount, unit) = match amount.strip_suffix("tokens") {
        Some(amount) => (amount.trim_end(), Unit::Tokens),
        None => (amount, Unit::Requests),
    };
    let amount = amount.parse().map_err(|_| wrong())?;
    Ok(Rate { unit, amount, window: milliseconds(span(window.trim()).map_err(|_| wrong())?) })
}

/// An amount of money.
pub(crate) fn price(text: &str) -> Result<f64, String> {
    let price = text.parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "an amount is needed, such as 0.15 or 2".into())
}

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
fn limit_value(rate: &Rate) -> String {
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
    fn a_limit_is_read_and_written_back() {
        for text in ["10/60s", "1/500ms", "40000tokens/60s"] {
            assert_eq!(limit_value(&rate(text).unwrap()), text);
        }
        assert_eq!(limit_value(&rate("10/1m").unwrap()), "10/60s");
        for wrong in ["10", "10/", "/60s", "ten/60s", "10/60", "-1/60s", "10 requests/60s"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_are_read() {
        assert_eq!(span("1h"), Ok(Duration::from_secs(3_600)));
        assert_eq!(span("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(span("0"), Ok(Duration::ZERO));
        assert!(span("-2s").is_err());
        assert!(span("soon").is_err());
    }

    #[test]
    fn a_spread_is_one_span_or_two() {
        let (least, most) = (Duration::ZERO, Duration::from_millis(300));
        assert_eq!(spread("0..300ms"), Ok(Spread::between(least, most)));
        assert_eq!(spread("300ms"), Ok(Spread::exactly(most)));
        assert!(spread("300ms..0").is_err());
    }

    #[test]
    fn counts_and_money_are_said() {
        let said = [0, 999, 1_000, 1_234_567].map(count_in_words);
        assert_eq!(said, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.01234, 12.3456].map(money), ["0.0123", "12.35"]);
        assert!(price("-1").is_err() && price("NaN").is_err() && price("cheap").is_err());
    }

    #[test]
    fn spans_are_said() {
        assert_eq!(in_words(Duration::from_millis(50)), "50 ms");
        assert_eq!(in_words(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(in_words(Duration::from_secs(245)), "4 min 05 s");
        assert_eq!(in_words(Duration::from_secs(7_500)), "2 h 05 min");
    }
}
