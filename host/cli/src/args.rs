//! What describes a batch, the same for `run` and `plan`: documents, endpoint, prompt, limits, retries.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use becalm::documents::{Ahead, Asked, Columns, Inputs};
use becalm::outcomes::{Before, Past, Prices, Spending};
use becalm::{Rate, Settings, Unit};
use same_file::is_same_file;

use super::defaults;
use super::route;
use super::values::{milliseconds, price, rate, span};

/// A batch.
#[derive(Debug, clap::Args)]
pub(crate) struct Batch {
    /// Text files, folders, patterns such as 'docs/**/*.md', CSV, JSONL of {"id","text"} or in OpenAI Batch form, or -
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Results, a line per document; what they answer already is not sent again [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Send what is missing or was put off, but not what failed before
    #[arg(long)]
    pub(crate) only_missing: bool,
    /// Send a document again that changed since it was answered, or that something else is asked of now
    #[arg(long)]
    pub(crate) force: bool,
    /// Column of a table (.csv, .tsv) with the documents' ids [default: id]
    #[arg(long, value_name = "NAME", help_heading = "Tables")]
    id_column: Option<String>,
    /// Column with their texts [default: text]
    #[arg(long, value_name = "NAME", help_heading = "Tables")]
    text_column: Option<String>,
    /// Where the endpoint is, up to and without /chat/completions
    #[arg(long, env = "OPENAI_BASE_URL", value_name = "URL", help_heading = "Endpoint")]
    pub(crate) base_url: Option<String>,
    /// The model, as the endpoint calls it; needed unless every document is a whole request
    #[arg(long, value_name = "NAME", help_heading = "Endpoint")]
    model: Option<String>,
    #[command(flatten)]
    pub(crate) route: route::Args,
    /// System message [default: You are a document analyst.]
    #[arg(long, value_name = "TEXT", help_heading = "Prompt")]
    system: Option<String>,
    /// User message; {text} stands for the document [default: Analyze this document: {text}]
    #[arg(long, value_name = "TEMPLATE", help_heading = "Prompt")]
    prompt: Option<String>,
    /// Most tokens of an answer [default: 512]
    #[arg(long, value_name = "N", help_heading = "Prompt")]
    max_tokens: Option<u32>,
    /// What a million tokens of prompts cost, in your currency
    #[arg(long, value_name = "PRICE", value_parser = price, help_heading = "Spending")]
    price_in: Option<f64>,
    /// What a million tokens of answers cost
    #[arg(long, value_name = "PRICE", value_parser = price, help_heading = "Spending")]
    price_out: Option<f64>,
    /// Stop before this run may spend more than that; needs both prices
    #[arg(long, value_name = "AMOUNT", value_parser = price, help_heading = "Spending")]
    budget: Option<f64>,
    /// Be over after so long, such as 2h: sending stops a little earlier, so that requests on the wire can end
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Spending")]
    pub(crate) deadline: Option<Duration>,
    /// Requests on the wire at one time [default: 8]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_in_flight: Option<u32>,
    /// A limit that is known, such as 10/60s, or 40000tokens/60s: learnt if absent; all hold if repeated
    #[arg(long, value_name = "N/SPAN", value_parser = rate, help_heading = "Limits")]
    limit: Vec<Rate>,
    /// The same, per minute
    #[arg(long, value_name = "N", help_heading = "Limits")]
    rpm: Option<u64>,
    /// Least time between two requests [default: 0]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Limits")]
    pace: Option<Duration>,
    /// Spread on top of a wait that the endpoint asked for, at most a quarter of it [default: 2s]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    jitter: Option<Duration>,
    /// Tries of one document that may fail, the first included; refusals do not count [default: 5]
    #[arg(long, value_name = "N", help_heading = "Retries")]
    max_attempts: Option<u32>,
    /// Longest wait for the next request; what would wait longer is postponed [default: 1h]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    patience: Option<Duration>,
    /// Wait after a refusal without a hint [default: one request looks, soon and then ever later]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Retries")]
    fallback_wait: Option<Duration>,
    /// Seed of jitter and back-off, for repeatable runs
    #[arg(long, value_name = "N", help_heading = "Retries")]
    seed: Option<u64>,
}

impl Batch {
    /// Looks at all documents; what becalm itself writes or reads is none.
    pub(crate) fn scan(&self, events: Option<&Path>) -> Result<Arc<Inputs>> {
        if let (Some(output), Some(events)) = (&self.output, events)
            && (output == events || is_same_file(output, events).unwrap_or(false))
        {
            bail!("results and events cannot go into one file\nhint: name another one with --events");
        }
        let usual = Columns::default();
        let columns = (self.id_column.is_some() || self.text_column.is_some()).then(|| Columns {
            id: self.id_column.clone().unwrap_or(usual.id),
            text: self.text_column.clone().unwrap_or(usual.text),
        });
        let except = self.output.iter().map(PathBuf::as_path).chain(events).chain([Path::new(defaults::FILE)]);
        let except = except.map(Path::to_path_buf).collect::<Vec<_>>();
        let inputs = Inputs::scan(&self.inputs, std::io::stdin(), columns, &except)?;
        if inputs.has_texts() && self.model.is_none() {
            bail!("no model is named\nhint: name it with --model, as the endpoint calls it");
        }
        Ok(Arc::new(inputs))
    }

    /// The rows that have to go, after what earlier runs brought home.
    pub(crate) fn rows(&self, inputs: &Arc<Inputs>, past: &Arc<Past>, asked: Asked) -> Ahead {
        let (past, skipping) = (Arc::clone(past), self.skipping());
        inputs.rows_ahead(move |row| !skipping.skips(past.before(row, asked)))
    }

    /// What earlier runs brought home of these documents.
    pub(crate) fn earlier(&self, inputs: &Inputs, past: &Past, asked: Asked) -> Earlier {
        let mut earlier = Earlier::default();
        // Without a past there is nothing to compare the input with, and it need not be read once more.
        let known = (!past.is_empty()).then(|| inputs.rows().flatten());
        for row in known.into_iter().flatten() {
            let before = past.before(&row, asked);
            let is_skipped = u64::from(self.skipping().skips(before));
            *if before == Before::Failed { &mut earlier.failed } else { &mut earlier.answered } += is_skipped;
            if before == Before::Changed {
                earlier.changed += 1;
                earlier.first_changed.get_or_insert_with(|| row.id().to_string());
            }
        }
        earlier
    }

    /// Tokens and money, to be counted from now on.
    pub(crate) fn spending(&self, settings: &Settings) -> Result<Spending> {
        let prices = match (self.price_in, self.price_out) {
            (Some(input), Some(output)) => Some(Prices { input, output }),
            (None, None) if self.budget.is_none() => None,
            _ => bail!("both prices are needed\nhint: name them with --price-in and --price-out, per million tokens"),
        };
        Ok(Spending::new(&settings.chat, prices, self.budget))
    }

    const fn skipping(&self) -> Skipping {
        Skipping { force: self.force, only_missing: self.only_missing }
    }

    /// The component's defaults, and what was set instead.
    pub(crate) fn settings(&self, defaults: Settings, base_url: &str) -> Settings {
        let mut settings = defaults;
        settings.endpoint.base_url = base_url.into();
        set(&mut settings.chat.model, self.model.clone());
        set(&mut settings.chat.system_prompt, self.system.clone().map(Some));
        set(&mut settings.chat.prompt_template, self.prompt.clone());
        set(&mut settings.chat.max_tokens, self.max_tokens.map(Some));
        set(&mut settings.limits.max_in_flight, self.max_in_flight);
        let rpm = self.rpm.map(|amount| Rate { unit: Unit::Requests, amount, window: 60_000 });
        settings.limits.rates = self.limit.iter().copied().chain(rpm).collect();
        set(&mut settings.limits.pace, self.pace.map(milliseconds));
        set(&mut settings.retry.jitter, self.jitter.map(milliseconds));
        set(&mut settings.retry.max_attempts, self.max_attempts);
        set(&mut settings.retry.patience, self.patience.map(milliseconds));
        settings.retry.fallback_wait = self.fallback_wait.map(milliseconds);
        settings.seed = self.seed;
        settings
    }
}

/// Which documents of earlier runs are not sent.
#[derive(Clone, Copy)]
struct Skipping {
    force: bool,
    only_missing: bool,
}

impl Skipping {
    /// Whether one that fared so before is not sent.
    const fn skips(self, before: Before) -> bool {
        match before {
            Before::Never => false,
            Before::Answered => true,
            Before::Changed => !self.force,
            Before::Failed => self.only_missing,
        }
    }
}

/// What earlier runs brought home.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Answered, and not sent again.
    pub(crate) answered: u64,
    /// Failed, and left at that.
    pub(crate) failed: u64,
    /// Answered with another content.
    changed: u64,
    first_changed: Option<String>,
}

impl Earlier {
    /// What is odd about it.
    pub(crate) fn warning(&self, forced: bool) -> Option<String> {
        let first = self.first_changed.as_ref()?;
        let advice = if forced { "sent again" } else { "not sent again; --force sends them" };
        Some(format!(
            "{} answered documents have changed since, or something else is asked of them, such as {first}: {advice}",
            self.changed
        ))
    }
}

fn set<Value>(field: &mut Value, value: Option<Value>) {
    if let Some(value) = value {
        *field = value;
    }
}
