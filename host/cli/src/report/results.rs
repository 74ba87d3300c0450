//! What the results say: how each document ended, and what it took.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, Result, ensure};
use becalm::outcomes::{self, ResultLine};
use serde::Deserialize;

use super::lines::each_line;

/// The documents, in the order of their first line.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) documents: Vec<(String, Ending)>,
    by_id: HashMap<String, usize>,
    /// Of prompts and of answers, as far as the endpoint told.
    pub(crate) tokens: (u64, u64),
}

/// How a document ended.
#[derive(Debug)]
pub(crate) struct Ending {
    outcome: &'static str,
    reason: Option<(String, String)>,
}

/// Failures of one reason: its code, the first message, how many, and some of the documents.
type Failures<'a> = (&'a str, &'a str, u64, Vec<&'a str>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    Completion { usage: Usage },
    Other(serde::de::IgnoredAny),
}

impl Default for Body {
    fn default() -> Self {
        Self::Other(serde::de::IgnoredAny)
    }
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
    pub(crate) fn read(file: impl BufRead) -> Result<Self> {
        let mut results = Self::default();
        each_line(file, |number, line| {
            let line = serde_json::from_slice::<ResultLine<_>>(line).with_context(|| format!("line {number}"))?;
            ensure!(line.is_of_results(), "line {number}: it has neither response nor error");
            results.add(line);
            Ok(())
        })?;
        Ok(results)
    }

    /// How a document ended; one that has no line is open.
    pub(crate) fn outcome(&self, id: &str) -> &'static str {
        self.by_id.get(id).map_or("open", |index| self.documents[*index].1.outcome)
    }

    /// How many documents ended so.
    pub(crate) fn count(&self, outcome: &str) -> u64 {
        self.documents.iter().filter(|(_, ending)| ending.outcome == outcome).count() as u64
    }

    /// What failed or was put off, by reason, the most frequent first.
    pub(crate) fn failures(&self) -> Vec<Failures<'_>> {
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
    fn add(&mut self, line: ResultLine<Body>) {
        let outcome = match line.ending() {
            Some(outcomes::Ending::Answered) => "answered",
            Some(outcomes::Ending::Failed) => "failed",
            Some(outcomes::Ending::Postponed) => "postponed",
            None => "open",
        };
        if let Some(Some(outcomes::Response { body: Body::Completion { usage }, .. })) = &line.response {
            self.tokens.0 = self.tokens.0.saturating_add(usage.prompt_tokens);
            self.tokens.1 = self.tokens.1.saturating_add(usage.completion_tokens);
        }
        let reason = line.error.flatten().map(|fault| (fault.code.into_owned(), fault.message.into_owned()));
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
