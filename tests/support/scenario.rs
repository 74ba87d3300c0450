//! A scenario: settings, documents, what the endpoint does, and what has to happen. All of it is data, in
//! `tests/scenarios/*.toml`; see the README there.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use becalm::server::{Model, Spread};
use serde::Deserialize;

/// A file of scenarios.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    scenario: Vec<Scenario>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Scenario {
    pub(crate) id: String,
    /// Where it was seen; for the reader.
    #[serde(rename = "source", default)]
    _source: String,
    /// For the reader, too.
    #[serde(rename = "title")]
    _title: String,
    #[serde(default)]
    pub(crate) settings: Told,
    pub(crate) documents: Documents,
    /// What the endpoint does, request by request; else `server` decides.
    #[serde(default)]
    pub(crate) exchange: Vec<Turn>,
    pub(crate) server: Option<Served>,
    /// Every line of it, see `Line`.
    pub(crate) timeline: Vec<String>,
    /// Has to be in some message.
    #[serde(default)]
    pub(crate) says: Vec<String>,
}

/// Settings that differ from the defaults; there is no jitter, so that hinted waits are exact.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Told {
    pub(crate) base_url: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) max_in_flight: Option<u32>,
    #[serde(default)]
    pub(crate) rates: Vec<Rate>,
    pub(crate) pace_ms: Option<u64>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) jitter_ms: Option<u64>,
    pub(crate) patience_ms: Option<u64>,
    pub(crate) fallback_wait_ms: Option<u64>,
    pub(crate) whole_request_ms: Option<u64>,
    pub(crate) seed: Option<u64>,
}

impl Told {
    pub(crate) fn base_url(&self) -> &str {
        self.base_url.as_deref().unwrap_or("http://model.invalid/v1")
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Rate {
    pub(crate) requests: Option<u64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) window_ms: u64,
}

/// How many there are, or the `max_tokens` of each.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Documents {
    Count(usize),
    MaxTokens(Vec<u64>),
}

impl Documents {
    /// Their request bodies and `max_tokens`.
    pub(crate) fn bodies(&self) -> Vec<(String, u64)> {
        let most = match self {
            Self::Count(count) => vec![16; *count],
            Self::MaxTokens(most) => most.clone(),
        };
        let body = |(n, most): (usize, u64)| {
            let message = serde_json::json!({"role": "user", "content": format!("Text number {}.", n + 1)});
            (serde_json::json!({"model": "mock", "messages": [message], "max_tokens": most}).to_string(), most)
        };
        most.into_iter().enumerate().map(body).collect()
    }
}

/// What the endpoint does with a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Turn {
    /// It is for requests with this text in their body alone; others pass it by.
    pub(crate) when: Option<String>,
    /// 200 where nothing is said.
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Values>,
    /// A plain completion where nothing is said.
    pub(crate) body: Option<String>,
    /// Such a completion, with a text of so many bytes.
    pub(crate) text_bytes: Option<usize>,
    #[serde(default)]
    pub(crate) delay_ms: u64,
    /// No answer, but this; with a status: the body ends so.
    pub(crate) error: Option<String>,
    /// So many times in a row; 0: for all that follow.
    #[serde(default = "one")]
    pub(crate) times: usize,
}

impl Turn {
    /// For a request that the scenario did not foresee.
    pub(crate) fn over() -> Self {
        let body = Some("the exchange is over".into());
        let (status, headers) = (Some(400), BTreeMap::new());
        Self { when: None, status, headers, body, text_bytes: None, delay_ms: 0, error: None, times: 0 }
    }
}

const fn one() -> usize {
    1
}

/// One field, or several of the same name.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Values {
    One(String),
    Many(Vec<String>),
}

impl Values {
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// A server model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Served {
    limiter: String,
    hint: Option<String>,
    requests: u64,
    window_ms: u64,
    subwindow_ms: Option<u64>,
    tokens: Option<u64>,
    #[serde(default)]
    hint_counts_refused: bool,
    latency_ms: Option<[u64; 2]>,
    delay_ms: Option<[u64; 2]>,
    #[serde(default)]
    others: u64,
    #[serde(default)]
    limit_headers: bool,
}

impl Served {
    pub(crate) fn model(&self) -> Model {
        let spread =
            |[least, most]: [u64; 2]| Spread::between(Duration::from_millis(least), Duration::from_millis(most));
        let default = Model::default();
        Model {
            limiter: self.limiter.parse().unwrap(),
            hint: self.hint.as_ref().map_or(default.hint, |hint| hint.parse().unwrap()),
            requests: self.requests,
            window: Duration::from_millis(self.window_ms),
            subwindow: self.subwindow_ms.map(Duration::from_millis),
            tokens: self.tokens,
            hint_counts_refused: self.hint_counts_refused,
            latency: self.latency_ms.map_or(default.latency, spread),
            delay: self.delay_ms.map_or(default.delay, spread),
            others: self.others,
            limit_headers: self.limit_headers,
            ..default
        }
    }
}

/// All scenarios of a family.
pub(crate) fn family(name: &str) -> Vec<Scenario> {
    let path = folder().join(name).with_extension("toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let family: Family = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(!family.scenario.is_empty(), "{} has no scenario", path.display());
    family.scenario
}

/// The families that there are.
pub(crate) fn families() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut names: Vec<_> = files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Makes this the timeline that a scenario expects; all else in its file stays as it is, byte for byte.
pub(crate) fn expect(family: &str, id: &str, timeline: &[String]) {
    let path = folder().join(family).with_extension("toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let is_whole = "a scenario has an id, and a timeline after it";
    let (before, rest) = text.split_once(&format!("\nid = {id:?}\n")).expect(is_whole);
    let (head, rest) = rest.split_once("\ntimeline = [\n").expect(is_whole);
    assert!(!head.contains("\n[["), "{is_whole}: {id}");
    let (_, rest) = rest.split_once("\n]\n").expect(is_whole);
    let lines = timeline.iter().map(|line| format!("    {line:?},\n")).collect::<String>();
    std::fs::write(&path, format!("{before}\nid = {id:?}\n{head}\ntimeline = [\n{lines}]\n{rest}")).unwrap();
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/scenarios"))
}

/// What happened, in one line: when, what, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at_ms: u64,
    pub(crate) what: String,
    /// What a timeline leaves out, but policy and component have to agree on.
    pub(crate) detail: String,
}

impl Line {
    /// Whether it is as expected: `503 sent 1`, or `503..1503 sent 1` for any time between, ends included.
    pub(crate) fn is(&self, expected: &str) -> bool {
        let (at, what) = expected.split_once(' ').unwrap_or((expected, ""));
        let (least, most) = at.split_once("..").unwrap_or((at, at));
        let ms = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("no time: {expected}"));
        (ms(least)..=ms(most)).contains(&self.at_ms) && what == self.what
    }
}

/// The name of a variant as it is written in a timeline: `FailureKind::NotFound` is `not-found`.
pub(crate) fn name(variant: impl std::fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let mut name = String::new();
    for letter in text.rsplit("::").next().unwrap_or_default().chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
