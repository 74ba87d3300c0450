//! What the results say: how each document ended, and what it took.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::each_line;

/// The documents, in the order of their first line.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) documents: Vec<(String, Ending)>,
    by_id: HashMap<String, usize>,
    /// Of prompts and of answers, as far as the endpoint told.
    pub(super) tokens: (u64, u64),
}

/// How a document ended.
#[derive(Debug)]
pub(super) struct Ending {
    outcome: &'static str,
    reason: Option<(String, String)>,
}

/// Failures of one reason: its code, the first message, how many, and some of the documents.
type Failures<'a> = (&'a str, &'a str, u64, Vec<&'a str>);

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    custom_id: Cow<'a, str>,
    #[serde(borrow)]
    error: Option<Fault<'a>>,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Fault<'a> {
    #[serde(borrow, default)]
    code: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Response {
    body: Body,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    Completion { usage: Usage },
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

impl Results {
    /// Reads results; a torn last line is left out.
    pub(super) fn read(file: impl BufRead) -> Result<Self> {
        let mut results = Self::default();
        each_line(file, |number, line| {
            results.add(serde_json::from_slice(line).with_context(|| format!("line {number}"))?);
            Ok(())
        })?;
        Ok(results)
    }

    /// How a document ended; one that has no line is open.
    pub(super) fn outcome(&self, id: &str) -> &'static str {
        self.by_id.get(id).map_or("open", |index| self.documents[*index].1.outcome)
    }

    /// How many documents ended so.
    pub(super) fn count(&self, outcome: &str) -> u64 {
        self.documents.iter().filter(|(_, ending)| ending.outcome == outcome).count() as u64
    }

    /// What failed or was put off, by reason, the most frequent first.
    pub(super) fn failures(&self) -> Vec<Failures<'_>> {
        let mut failures = Vec::<Failures>::new();
        for (id, ending) in &self.documents {
            let Some((code, message)) = &ending.reason else { continue };
            let index = failures.iter().position(|(known, ..)| known == code).unwrap_or_else(|| {
                failures.push((code, message, 0, vec![]));
                failures.len() - 1
            });
            failures[index].2 += 1;
            if failures[index].3.len() < EXAMPLES {
                failures[index].3.push(id);
            }
        }
        failures.sort_by_key(|(_, _, count, _)| std::cmp::Reverse(*count));
        failures
    }

    /// The latest line of a document counts, but an answer is never taken back.
    fn add(&mut self, line: Line) {
        if let Some(Response { body: Body::Completion { usage } }) = &line.response {
            self.tokens.0 += usage.prompt_tokens;
            self.tokens.1 += usage.completion_tokens;
        }
        let outcome = match &line.error {
            None => "answered",
            Some(fault) if fault.code.starts_with("postponed") => "postponed",
            Some(_) => "failed",
        };
        let reason = line.error.map(|fault| (fault.code.into_owned(), fault.message.into_owned()));
        let ending = Ending { outcome, reason };
        match self.by_id.get(&*line.custom_id) {
            Some(index) if self.documents[*index].1.outcome == "answered" => {}
            Some(index) => self.documents[*index].1 = ending,
            None => {
                self.by_id.insert(line.custom_id.clone().into_owned(), self.documents.len());
                self.documents.push((line.custom_id.into_owned(), ending));
            }
        }
    }
}

const EXAMPLES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_line_counts_and_an_answer_stays() {
        let line = |id: &str, code: &str| {
            format!(
                "{{\"custom_id\":\"{id}\",\"response\":null,\"error\":{{\"code\":\"{code}\",\"message\":\"m\"}}}}\n"
            )
        };
        let answered = "{\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"body\":{\"usage\":\
            {\"prompt_tokens\":5,\"completion_tokens\":2}}},\"error\":null}\n";
        let lines = [
            line("b", "rejected"),
            line("a", "server-fault"),
            answered.into(),
            line("c", "rejected"),
            line("d", "postponed-stopped"),
            line("a", "postponed-stopped"),
            "{\"custom_id\":\"e\",".into(),
        ];
        let results = Results::read(lines.concat().as_bytes()).unwrap();
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(|id| results.outcome(id)),
            ["answered", "failed", "failed", "postponed", "open"]
        );
        let failures = [("rejected", "m", 2, vec!["b", "c"]), ("postponed-stopped", "m", 1, vec!["d"])];
        assert_eq!(results.failures(), failures);
        assert_eq!(results.tokens, (5, 2));
        assert!(Results::read("my thesis\n".as_bytes()).is_err());
    }
}
