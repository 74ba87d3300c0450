//! What describes a batch, the same for `run` and `plan`, as flags: documents, endpoint, prompt, limits, retries.

use std::path::PathBuf;
use std::time::Duration;

use becalm::Rate;
use serde_json::Value;

use crate::flags::endpoint::EndpointFlags;
use crate::flags::values::{Again, MostTokens, again, delimiter, member, most_tokens, price, rate, span};

/// A batch.
#[derive(Debug, clap::Args)]
pub(crate) struct BatchFlags {
    /// Text files, folders, patterns such as 'docs/**/*.md', CSV, JSONL of {"id","text"} or in OpenAI Batch form, or -
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Results, a line per document; what they answer already is not sent again [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Send what is missing or was put off, but not what failed before
    #[arg(long)]
    pub(crate) only_missing: bool,
    /// Send these again, too: cut-off (at max_tokens), empty, refused-by-model, failed; several with commas
    #[arg(long, value_name = "WHAT", value_parser = again, value_delimiter = ',')]
    pub(crate) again: Vec<Again>,
    /// Send a document again that changed since it was answered, or that something else is asked of now
    #[arg(long)]
    pub(crate) force: bool,
    /// Column of a table (.csv, .tsv) with the documents' ids [default: id]
    #[arg(long, value_name = "NAME", help_heading = "Tables")]
    pub(crate) id_column: Option<String>,
    /// Column with their texts [default: text]
    #[arg(long, value_name = "NAME", help_heading = "Tables")]
    pub(crate) text_column: Option<String>,
    /// What stands between columns, such as ';' or '\t' [default: what the first line shows]
    #[arg(long, value_name = "SIGN", value_parser = delimiter, help_heading = "Tables")]
    pub(crate) delimiter: Option<u8>,
    /// Where the endpoint is, up to and without /chat/completions
    #[arg(long, env = "OPENAI_BASE_URL", value_name = "URL", help_heading = "Endpoint")]
    pub(crate) base_url: Option<String>,
    /// The model, as the endpoint calls it; needed unless every document is a whole request
    #[arg(long, value_name = "NAME", help_heading = "Endpoint")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) endpoint: EndpointFlags,
    /// System message [default: You are a document analyst.]
    #[arg(long, value_name = "TEXT", help_heading = "Prompt", conflicts_with_all = ["system_file", "no_system"])]
    pub(crate) system: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE", help_heading = "Prompt", conflicts_with = "no_system")]
    pub(crate) system_file: Option<PathBuf>,
    /// No system message
    #[arg(long, help_heading = "Prompt")]
    pub(crate) no_system: bool,
    /// User message; {text} stands for the document [default: Analyze this document: {text}]
    #[arg(long, value_name = "TEMPLATE", help_heading = "Prompt", conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE", help_heading = "Prompt")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Most tokens of an answer, or none: as the endpoint decides [default: 512]
    #[arg(long, value_name = "N", value_parser = most_tokens, help_heading = "Prompt")]
    pub(crate) max_tokens: Option<MostTokens>,
    /// The same under the name that reasoning models want
    #[arg(long, value_name = "N", help_heading = "Prompt", conflicts_with = "max_tokens",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_completion_tokens: Option<u32>,
    /// How varied answers are, 0 to 2 [default: as the endpoint decides]
    #[arg(long, value_name = "T", help_heading = "Prompt")]
    pub(crate) temperature: Option<f64>,
    /// A member of every request, such as seed=7 or 'response_format={"type":"json_object"}'; points lead into objects
    #[arg(long, value_name = "NAME=VALUE", value_parser = member, help_heading = "Prompt")]
    pub(crate) set: Vec<(String, Value)>,
    /// Members of every request, a JSON object in a file; --set wins
    #[arg(long, value_name = "FILE", help_heading = "Prompt")]
    pub(crate) body: Option<PathBuf>,
    /// What a million tokens of prompts cost, in your currency
    #[arg(long, value_name = "PRICE", value_parser = price, help_heading = "Spending")]
    pub(crate) price_in: Option<f64>,
    /// What a million tokens of answers cost
    #[arg(long, value_name = "PRICE", value_parser = price, help_heading = "Spending")]
    pub(crate) price_out: Option<f64>,
    /// Stop before this run may spend more than that; needs both prices
    #[arg(long, value_name = "AMOUNT", value_parser = price, help_heading = "Spending")]
    pub(crate) budget: Option<f64>,
    /// Be over after so long, such as 2h: sending stops a little earlier, so that requests on the wire can end
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Spending")]
    pub(crate) deadline: Option<Duration>,
    /// Requests on the wire at one time [default: 8]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_in_flight: Option<u32>,
    /// A limit that is known, such as 10/60s, or 40000tokens/60s: learnt if absent; all hold if repeated
    #[arg(long, value_name = "N/SPAN", value_parser = rate, help_heading = "Limits")]
    pub(crate) limit: Vec<Rate>,
    /// The same, per minute
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) rpm: Option<u64>,
    /// Least time between two requests [default: 0]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Limits")]
    pub(crate) pace: Option<Duration>,
    /// Spread on top of a wait that the endpoint asked for, at most a quarter of it [default: 2s]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    pub(crate) jitter: Option<Duration>,
    /// Tries of one document that may fail, the first included; refusals do not count [default: 5]
    #[arg(long, value_name = "N", help_heading = "Retries")]
    pub(crate) max_attempts: Option<u32>,
    /// Longest wait for the next request; what would wait longer is postponed [default: 1h]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    pub(crate) patience: Option<Duration>,
    /// Wait after a refusal without a hint [default: one request looks, soon and then ever later]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    pub(crate) fallback_wait: Option<Duration>,
    /// Seed of jitter and back-off, for repeatable runs
    #[arg(long, value_name = "N", help_heading = "Retries")]
    pub(crate) seed: Option<u64>,
}
