//! `becalm report`: one page, complete in itself, of what a batch did: from its results and, where there is one, its event
//! log. `results` and `log` read them, `page` draws.

mod log;
mod results;

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write, stdout};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use becalm::Admits;
use becalm::outcomes::percentile;
use same_file::is_same_file;
use serde_json::{Value, json};

use self::log::Log;
use self::results::Results;
use super::exit::Exit;
use super::values::{admits_in_words, count_in_words, in_words, local_time, rate_in_words};

/// Make a page of what a batch did: timeline, waits, failures.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// The results that a run wrote
    results: PathBuf,
    /// The event log of the same runs
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Where the page goes; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn report(args: &Args) -> Result<Exit> {
    if args.output.is_none() && stdout().is_terminal() {
        bail!("a page is nothing to read in a terminal\nhint: name a file for it, such as -o report.html");
    }
    let inputs = [Some(&args.results), args.events.as_ref()].into_iter().flatten();
    if let Some(output) = &args.output
        && inputs.into_iter().any(|input| is_same_file(input, output).unwrap_or(false))
    {
        bail!("{} holds what the page is made of\nhint: name another file with -o", output.display());
    }
    let open = |path: &PathBuf| File::open(path).with_context(|| format!("cannot read {}", path.display()));
    let results = Results::read(BufReader::new(open(&args.results)?))
        .with_context(|| format!("{} holds no results", args.results.display()))?;
    let log = match &args.events {
        None => Log::default(),
        Some(path) => {
            Log::read(BufReader::new(open(path)?)).with_context(|| format!("{} holds no events", path.display()))?
        }
    };
    let title = args.results.file_name().unwrap_or(args.results.as_os_str()).to_string_lossy().into_owned();
    let page = page(&data(&title, &results, &log));
    match &args.output {
        None => stdout().write_all(page.as_bytes())?,
        Some(path) => std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?,
    }
    Ok(Exit::Done)
}

/// Reads line by line, each with its number from 1; a torn last line is left out.
fn each_line(mut file: impl BufRead, mut take: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
    let mut bytes = vec![];
    for number in 1.. {
        bytes.clear();
        file.read_until(b'\n', &mut bytes)?;
        if !bytes.ends_with(b"\n") {
            break;
        }
        take(number, &bytes)?;
    }
    Ok(())
}

/// The page that draws these data. Nothing in them can end the element that holds them.
fn page(data: &Value) -> String {
    let data = data.to_string().replace('<', "\\u003c");
    let parts = PARTS.iter().copied().chain([("{{data}}", data.as_str())]);
    parts.fold(PAGE.into(), |page: String, (mark, part)| page.replacen(mark, part, 1))
}

fn data(title: &str, results: &Results, log: &Log) -> Value {
    let sent = log.documents.iter().map(|document| (document.id.as_str(), document.tries.as_slice()));
    let unsent = results.documents.iter().filter(|(id, _)| !log.knows(id)).map(|(id, _)| (id.as_str(), &[][..]));
    let documents = sent.chain(unsent).map(|(id, tries)| json!([id, results.outcome(id), tries]));
    json!({
        "title": title,
        "started": log.started_epoch_ms.and_then(|at| local_time(at, "%Y-%m-%d %H:%M:%S")),
        "span_ms": log.span_ms,
        "figures": figures(results, log),
        "limit": log.limit().map(|rate| {
            json!({"amount": rate.amount, "window_ms": rate.window, "words": rate_in_words(&rate)})
        }),
        "documents": documents.collect::<Vec<_>>(),
        "pauses": log.pauses,
        "waits_ms": log.waits_ms,
        "failures": results.failures(),
    })
}

fn figures(results: &Results, log: &Log) -> Vec<(&'static str, String)> {
    let mut figures = vec![];
    for (name, count) in [
        ("answered", results.count("answered")),
        ("failed", results.count("failed")),
        ("postponed", results.count("postponed")),
    ] {
        figures.push((name, count_in_words(count)));
    }
    let left = log.batch.saturating_sub(results.documents.len() as u64);
    if left > 0 {
        figures.push(("not answered yet", count_in_words(left)));
    }
    if log.span_ms > 0 {
        let requests = log.documents.iter().map(|document| document.tries.len() as u64).sum();
        figures.push(("requests", count_in_words(requests)));
        figures.push(("refusals", count_in_words(log.waits_ms.len() as u64)));
        figures.push(("time", in_words(Duration::from_millis(log.span_ms))));
    }
    // That of requests per time has a chart.
    if let Some(admits @ Admits::InFlight(_)) = &log.learnt {
        figures.push(("limit", admits_in_words(admits)));
    }
    if log.runs > 1 {
        figures.push(("runs", count_in_words(log.runs)));
    }
    let mut waits = log.waits_ms.clone();
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

const MORE: &str = "\
One HTML file that needs no network: a timeline of all documents, requests per window against the limit, waits, \
failures by reason. All but the last need the event log of the run.

Examples:
  becalm run contracts --model some-model -o results.jsonl --events events.jsonl
  becalm report results.jsonl --events events.jsonl -o report.html";
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
        let page = page(&data("<t>", &results.unwrap(), &Log::default()));
        assert_eq!(page.matches("</script>").count(), 2, "of the data and of the script");
        assert!(page.contains(r#"["\u003c/script>{{style}}","failed",[]]"#), "{page}");
        assert!(page.contains(r#""title":"\u003ct>""#) && !page.contains("{{data}}"));
        assert!(!page.contains("http://") && !page.contains("https://"), "it needs no network");
    }
}
