//! Flags that were checked against each other and against the input: settings, and what else a batch needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use becalm::documents::{Columns, Inputs};
use becalm::outcomes::{Prices, Shortfall, Spending};
use becalm::{Chat, Rate, Settings, Unit};
use same_file::is_same_file;
use serde_json::{Map, Value};

use crate::batch::earlier::Resend;
use crate::flags::batch::BatchFlags;
use crate::flags::config_file;
use crate::flags::values::{Again, MostTokens};
use crate::terminal::words::milliseconds;

/// A batch, as it was asked for.
pub(crate) struct CheckedBatch {
    /// All documents, looked at.
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) settings: Settings,
    pub(crate) output: Option<PathBuf>,
    pub(crate) resend: Resend,
    pub(crate) deadline: Option<Duration>,
    prices: Option<Prices>,
    budget: Option<f64>,
}

impl BatchFlags {
    /// Checks them, and looks at all documents; what becalm itself writes or reads is none.
    pub(crate) fn check(&self, base_url: &str, events: Option<&Path>) -> Result<CheckedBatch> {
        if let (Some(output), Some(events)) = (&self.output, events)
            && (output == events || is_same_file(output, events).unwrap_or(false))
        {
            bail!("results and events cannot go into one file\nhint: name another one with --events");
        }
        let prices = match (self.price_in, self.price_out) {
            (Some(input), Some(output)) => Some(Prices { input, output }),
            (None, None) if self.budget.is_none() => None,
            _ => bail!("both prices are needed\nhint: name them with --price-in and --price-out, per million tokens"),
        };
        let inputs = Arc::new(self.scan(events)?);
        if inputs.has_texts() && self.model.is_none() {
            bail!("no model is named\nhint: name it with --model, as the endpoint calls it");
        }
        Ok(CheckedBatch {
            inputs,
            settings: self.settings(base_url)?,
            output: self.output.clone(),
            resend: Resend {
                force: self.force,
                only_missing: self.only_missing && !self.again.contains(&Again::Failed),
                short: Shortfall::ALL.map(|shortfall| self.again.contains(&Again::Short(shortfall))),
            },
            deadline: self.deadline,
            prices,
            budget: self.budget,
        })
    }

    fn scan(&self, events: Option<&Path>) -> Result<Inputs> {
        let usual = Columns::default();
        let is_named = self.id_column.is_some() || self.text_column.is_some() || self.delimiter.is_some();
        let columns = is_named.then(|| Columns {
            id: self.id_column.clone().unwrap_or(usual.id),
            text: self.text_column.clone().unwrap_or(usual.text),
            separator: self.delimiter,
        });
        let except = self.output.iter().map(PathBuf::as_path).chain(events).chain([Path::new(config_file::FILE)]);
        let except = except.map(Path::to_path_buf).collect::<Vec<_>>();
        Ok(Inputs::scan(&self.inputs, std::io::stdin(), columns, &except)?)
    }

    /// The defaults, and what was set instead.
    fn settings(&self, base_url: &str) -> Result<Settings> {
        let mut settings = Settings::default();
        settings.endpoint.base_url = base_url.into();
        self.endpoint.add_headers(&mut settings);
        self.ask(&mut settings.chat)?;
        set(&mut settings.limits.max_in_flight, self.max_in_flight);
        let rpm = self.rpm.map(|amount| Rate { unit: Unit::Requests, amount, window: 60_000 });
        settings.limits.rates = self.limit.iter().copied().chain(rpm).collect();
        set(&mut settings.limits.pace, self.pace.map(milliseconds));
        set(&mut settings.retry.jitter, self.jitter.map(milliseconds));
        set(&mut settings.retry.max_attempts, self.max_attempts);
        set(&mut settings.retry.patience, self.patience.map(milliseconds));
        settings.retry.fallback_wait = self.fallback_wait.map(milliseconds);
        settings.seed = self.seed;
        Ok(settings)
    }

    /// What is asked of each text.
    fn ask(&self, chat: &mut Chat) -> Result<()> {
        set(&mut chat.model, self.model.clone());
        set(&mut chat.system_prompt, text(self.system.as_ref(), self.system_file.as_deref())?.map(Some));
        if self.no_system {
            chat.system_prompt = None;
        }
        set(&mut chat.prompt_template, text(self.prompt.as_ref(), self.prompt_file.as_deref())?);
        match (self.max_tokens, self.max_completion_tokens) {
            (Some(MostTokens::Some(most)), _) => chat.max_tokens = Some(most),
            (Some(MostTokens::None), _) | (None, Some(_)) => chat.max_tokens = None,
            (None, None) => {}
        }
        set(&mut chat.temperature, self.temperature.map(Some));
        let extra = extra(self.body.as_deref(), &self.set, self.max_completion_tokens)?;
        chat.extra = (!extra.is_empty()).then(|| Value::Object(extra).to_string());
        Ok(())
    }
}

impl CheckedBatch {
    /// Tokens and money, to be counted from now on.
    pub(crate) fn spending(&self) -> Spending {
        Spending::new(&self.settings.chat, self.prices, self.budget)
    }
}

/// A text, or that of a file.
fn text(text: Option<&String>, file: Option<&Path>) -> Result<Option<String>> {
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    Ok(text.cloned().or(file.map(read).transpose()?))
}

/// Members of every request beside those that have flags of their own.
fn extra(file: Option<&Path>, members: &[(String, Value)], most_tokens: Option<u32>) -> Result<Map<String, Value>> {
    let mut extra = match file {
        None => Map::new(),
        Some(path) => serde_json::from_str(&text(None, Some(path))?.unwrap_or_default())
            .with_context(|| format!("{} is no JSON object", path.display()))?,
    };
    extra.extend(most_tokens.map(|most| ("max_completion_tokens".to_string(), most.into())));
    for (path, value) in members {
        insert(&mut extra, path, value);
    }
    if extra.get("stream") == Some(&Value::Bool(true)) {
        bail!("the answers of a batch cannot come as streams\nhint: leave \"stream\" out");
    }
    Ok(extra)
}

/// Puts a value where the points of its path lead; what stands in the way is replaced.
fn insert(members: &mut Map<String, Value>, path: &str, value: &Value) {
    let Some((name, rest)) = path.split_once('.') else {
        members.insert(path.into(), value.clone());
        return;
    };
    let inner = members.entry(name).or_insert_with(|| Map::new().into());
    if !inner.is_object() {
        *inner = Map::new().into();
    }
    if let Some(inner) = inner.as_object_mut() {
        insert(inner, rest, value);
    }
}

fn set<Value>(field: &mut Value, value: Option<Value>) {
    if let Some(value) = value {
        *field = value;
    }
}
