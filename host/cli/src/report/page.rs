//! Draws the page: data, style and drawing in one file that needs no network.

use std::time::Duration;

use becalm::Admits;
use becalm::outcomes::percentile;
use serde_json::{Value, json};

use crate::report::results::Results;
use crate::report::timeline::Timeline;
use crate::terminal::words::{admits_in_words, count_in_words, in_words, local_time, rate_in_words};

/// The page of these results, and of what the log says of them.
pub(crate) fn page(title: &str, results: &Results, timeline: &Timeline) -> String {
    draw(&data(title, results, timeline))
}

/// The page that draws these data. Nothing in them can end the element that holds them.
fn draw(data: &Value) -> String {
    let data = data.to_string().replace('<', "\\u003c");
    let parts = PARTS.iter().copied().chain([("{{data}}", data.as_str())]);
    parts.fold(PAGE.into(), |page: String, (mark, part)| page.replacen(mark, part, 1))
}

fn data(title: &str, results: &Results, timeline: &Timeline) -> Value {
    let sent = timeline.documents.iter().map(|document| (document.id.as_str(), document.tries.as_slice()));
    let unsent = results.documents.iter().filter(|(id, _)| !timeline.knows(id)).map(|(id, _)| (id.as_str(), &[][..]));
    let documents = sent.chain(unsent).map(|(id, tries)| json!([id, results.outcome(id), tries]));
    json!({
        "title": title,
        "started": timeline.started_epoch_ms.and_then(|at| local_time(at, "%Y-%m-%d %H:%M:%S")),
        "span_ms": timeline.span_ms,
        "figures": figures(results, timeline),
        "limit": timeline.limit().map(|rate| {
            json!({"amount": rate.amount, "window_ms": rate.window, "words": rate_in_words(&rate)})
        }),
        "documents": documents.collect::<Vec<_>>(),
        "pauses": timeline.pauses,
        "waits_ms": timeline.waits_ms,
        "failures": results.failures(),
    })
}

fn figures(results: &Results, timeline: &Timeline) -> Vec<(&'static str, String)> {
    let mut figures = vec![];
    for (name, count) in [
        ("answered", results.count("answered")),
        ("failed", results.count("failed")),
        ("postponed", results.count("postponed")),
    ] {
        figures.push((name, count_in_words(count)));
    }
    let left = timeline.batch.saturating_sub(results.documents.len() as u64);
    if left > 0 {
        figures.push(("not answered yet", count_in_words(left)));
    }
    if timeline.span_ms > 0 {
        let requests = timeline.documents.iter().map(|document| document.tries.len() as u64).sum();
        figures.push(("requests", count_in_words(requests)));
        figures.push(("refusals", count_in_words(timeline.waits_ms.len() as u64)));
        figures.extend(timeline.said().map(|said| ("refusals say", said.chars().take(LONGEST_WORDS).collect())));
        figures.push(("time", in_words(Duration::from_millis(timeline.span_ms))));
    }
    // That of requests per time has a chart.
    if let Some(admits @ Admits::InFlight(_)) = &timeline.learnt {
        figures.push(("limit", admits_in_words(admits)));
    }
    if timeline.runs > 1 {
        figures.push(("runs", count_in_words(timeline.runs)));
    }
    let mut waits = timeline.waits_ms.clone();
    waits.sort_unstable();
    if let (Some(p50), Some(p95)) = (percentile(&waits, 50), percentile(&waits, 95)) {
        let words = |ms| in_words(Duration::from_millis(ms));
        figures.push(("waits", format!("{} (p50), {} (p95)", words(p50), words(p95))));
    }
    let (input, output) = results.tokens;
    if input + output > 0 {
        figures.push(("tokens", format!("{} in, {} out", count_in_words(input), count_in_words(output))));
    }
    figures
}

/// Of a message among the figures.
const LONGEST_WORDS: usize = 200;
const PAGE: &str = include_str!("page/page.html");
const PARTS: [(&str, &str); 5] = [
    ("{{style}}", include_str!("page/page.css")),
    ("{{drawing}}", include_str!("page/drawing.js")),
    ("{{timeline}}", include_str!("page/timeline.js")),
    ("{{charts}}", include_str!("page/charts.js")),
    ("{{start}}", include_str!("page/start.js")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_holds_its_data_and_nothing_else() {
        let results = Results::read(
            "{\"custom_id\":\"</script>{{style}}\",\"response\":null,\"error\":{\"code\":\"rejected\"}}\n".as_bytes(),
        );
        let page = page("<t>", &results.unwrap(), &Timeline::default());
        assert_eq!(page.matches("</script>").count(), 2, "of the data and of the script");
        assert!(page.contains(r#"["\u003c/script>{{style}}","failed",[]]"#), "{page}");
        assert!(page.contains(r#""title":"\u003ct>""#) && !page.contains("{{data}}"));
        assert!(!page.contains("http://") && !page.contains("https://"), "it needs no network");
    }
}
