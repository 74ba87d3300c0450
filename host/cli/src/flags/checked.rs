//! Flags that were checked against each other and against the input: settings, and what else a batch needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use becalm::documents::{Columns, Inputs};
use becalm::outcomes::{Prices, Shortfall, Spending};
use becalm::{Rate, Settings, Unit};
use same_file::is_same_file;

use crate::batch::earlier::Resend;
use crate::flags::batch::BatchFlags;
use crate::flags::config_file;
use crate::flags::values::Again;
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
            settings: self.settings(base_url),
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
        let columns = (self.id_column.is_some() || self.text_column.is_some()).then(|| Columns {
            id: self.id_column.clone().unwrap_or(usual.id),
            text: self.text_column.clone().unwrap_or(usual.text),
        });
        let except = self.output.iter().map(PathBuf::as_path).chain(events).chain([Path::new(config_file::FILE)]);
        let except = except.map(Path::to_path_buf).collect::<Vec<_>>();
        Ok(Inputs::scan(&self.inputs, std::io::stdin(), columns, &except)?)
    }

    /// The defaults, and what was set instead.
    fn settings(&self, base_url: &str) -> Settings {
        let mut settings = Settings::default();
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

impl CheckedBatch {
    /// Tokens and money, to be counted from now on.
    pub(crate) fn spending(&self) -> Spending {
        Spending::new(&self.settings.chat, self.prices, self.budget)
    }
}

fn set<Value>(field: &mut Value, value: Option<Value>) {
    if let Some(value) = value {
        *field = value;
    }
}
