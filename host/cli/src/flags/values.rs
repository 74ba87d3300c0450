//! Values as people write them on a command line.

use std::time::Duration;

use becalm::outcomes::Shortfall;
use becalm::server::Spread;
use becalm::{Rate, Unit};
use jiff::SignedDuration;
use serde_json::Value;

use crate::terminal::words::milliseconds;

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

/// What of earlier runs is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Answers of which this is missing.
    Short(Shortfall),
    Failed,
}

/// The name of a kind of answers, or `failed`.
pub(crate) fn again(text: &str) -> Result<Again, String> {
    match Shortfall::named(text) {
        Some(shortfall) => Ok(Again::Short(shortfall)),
        None if text == "failed" => Ok(Again::Failed),
        None => Err("it is cut-off, empty, refused-by-model or failed".into()),
    }
}

/// A header, `name: value`.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is needed, such as 'x-title: my batch'")?;
    Ok((name.trim().into(), value.trim().into()))
}

/// What stands between columns: one sign, or `\t`.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [sign] if sign.is_ascii() && !matches!(sign, b'"' | b'\n' | b'\r') => Ok(*sign),
        _ => Err("one sign is needed, such as ';', or \\t for a tab".into()),
    }
}

/// So many tokens, or none: then the endpoint decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MostTokens {
    Some(u32),
    None,
}

/// A number, or `none`.
pub(crate) fn most_tokens(text: &str) -> Result<MostTokens, String> {
    match text {
        "none" => Ok(MostTokens::None),
        number => number.parse().map(MostTokens::Some).map_err(|_| "a number is needed, or none".into()),
    }
}

/// A member of the request, `seed=7` or `response_format={"type":"json_object"}`: JSON, or else a text. Points lead into
/// objects.
pub(crate) fn member(text: &str) -> Result<(String, Value), String> {
    let (path, value) = text.split_once('=').ok_or("a member is needed, such as seed=7")?;
    if path.split('.').any(str::is_empty) {
        return Err("a member needs a name, such as seed or reasoning.effort".into());
    }
    Ok((path.into(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

/// An amount of money.
pub(crate) fn price(text: &str) -> Result<f64, String> {
    let price = text.parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "an amount is needed, such as 0.15 or 2".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::words::limit_value;

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
    fn members_and_headers_are_read() {
        assert_eq!(member("seed=7"), Ok(("seed".into(), 7.into())));
        assert_eq!(member("reasoning.effort=low"), Ok(("reasoning.effort".into(), "low".into())));
        assert!(member("seed").is_err() && member("a..b=1").is_err() && member("=1").is_err());
        assert_eq!(header("x-title:  my batch"), Ok(("x-title".into(), "my batch".into())));
        assert!(header("x-title").is_err());
        assert_eq!((most_tokens("none"), most_tokens("7")), (Ok(MostTokens::None), Ok(MostTokens::Some(7))));
    }

    #[test]
    fn a_price_is_an_amount_of_money() {
        assert_eq!(price("0.15"), Ok(0.15));
        assert!(price("-1").is_err() && price("NaN").is_err() && price("cheap").is_err());
    }
}
