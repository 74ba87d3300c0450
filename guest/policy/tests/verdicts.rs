//! The table of verdicts, whole: every status without and with a hint, and every transport error. A change of the table is
//! a change of the snapshot.

use std::fmt::Write;

use becalm_policy::{About, Delay, Fault, Hint, Reach, Reply, TransportError, Verdict, judge, judge_transport};

#[test]
fn every_status_and_every_transport_error_has_a_verdict() {
    let mut table = String::new();
    for (title, hint) in [("without a hint", None), ("with a hint", Some(HINT))] {
        let verdicts = (100..=599)
            .map(|status| (status, in_words(&judge(&Reply { status, ..Reply::default() }, hint, &About::default()))));
        writeln!(table, "HTTP status, {title}:").unwrap();
        for (first, last, verdict) in ranges(verdicts) {
            let statuses = if first == last { first.to_string() } else { format!("{first}-{last}") };
            writeln!(table, "  {statuses:<8} {verdict}").unwrap();
        }
    }
    writeln!(table, "code in the body, whatever the status (400, 403, 429, 503, 200):").unwrap();
    for code in CODES {
        let verdicts = [400, 403, 429, 503, 200].map(|status| {
            let body = format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#).into_bytes();
            in_words(&judge(&Reply { status, body, ..Reply::default() }, None, &About::default()))
        });
        match verdicts.windows(2).all(|pair| pair[0] == pair[1]) {
            true => writeln!(table, "  {code:<26} {}", verdicts[0]).unwrap(),
            false => writeln!(table, "  {code:<26} {}", verdicts.join(" | ")).unwrap(),
        }
    }
    writeln!(table, "transport error:").unwrap();
    for error in TransportError::ALL.iter().copied() {
        writeln!(table, "  {:<30} {}", format!("{error:?}"), in_words(&judge_transport(error))).unwrap();
    }
    insta::assert_snapshot!(table);
}

/// Statuses in a row with one verdict, as first and last.
fn ranges(verdicts: impl Iterator<Item = (u16, String)>) -> Vec<(u16, u16, String)> {
    let mut ranges = Vec::<(u16, u16, String)>::new();
    for (status, verdict) in verdicts {
        match ranges.last_mut() {
            Some((_, last, same)) if *same == verdict => *last = status,
            _ => ranges.push((status, status, verdict)),
        }
    }
    ranges
}

fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Answered(_) => "answered".into(),
        Verdict::Refused => "refused".into(),
        Verdict::ConcurrencyLimited => "refused, too many at one time".into(),
        Verdict::TurnedAway(_) => "not processed: again, fewer at a time".into(),
        Verdict::Retry(Fault { failure, reach, is_overload, is_cold_start, .. }) => {
            let overload = match (is_overload, is_cold_start) {
                (_, true) => ", overload or start-up",
                (true, false) => ", overload",
                (false, false) => "",
            };
            format!("retry{overload}, {}, else {:?}", reach_in_words(*reach), failure.kind)
        }
        Verdict::Denied(failure) => {
            format!("denied: final for all until one is answered, then again, {:?}", failure.kind)
        }
        Verdict::Final(failure, reach) => format!("final, {}, {:?}", reach_in_words(*reach), failure.kind),
    }
}

const fn reach_in_words(reach: Reach) -> &'static str {
    match reach {
        Reach::Document => "this document",
        Reach::UntilProven => "all until one is answered",
        Reach::Batch => "all",
    }
}

const CODES: [&str; 20] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "credit_balance_too_low",
    "exceeded_current_quota_error",
    "insufficient_balance",
    "insufficient_credits",
    "billing_not_active",
    "1113",
    "context_length_exceeded",
    "request_too_large",
    "invalid_api_key",
    "model_not_found",
    "overloaded_error",
    "rate_limit_exceeded",
    "rate_limit_error",
    "concurrency_limit_exceeded",
    "content_filter",
    "400",
    "429",
    "502",
];
const HINT: Hint = Hint { wait: Delay::from_secs(5), source: "retry-after" };
