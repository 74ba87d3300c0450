//! How a batch goes, predicted: for people and for programs.

use std::time::Duration;

use becalm::Rate;
use becalm::outcomes::Figures;
use becalm::server::Spread;
use serde_json::{Value, json};

use crate::batch::earlier::Earlier;
use crate::batch::plan_tally::PlanTally;
use crate::batch::stop::Reason;
use crate::events::limits::RateLine;
use crate::events::write;
use crate::terminal::summary::{efficiency, time, tokens};
use crate::terminal::words::{in_words, local_time, milliseconds, rate_in_words};

/// How it goes.
pub(crate) struct Forecast {
    pub(crate) tally: PlanTally,
    pub(crate) stopped: Option<Reason>,
    pub(crate) count: u64,
    pub(crate) sent: u64,
    pub(crate) rates: Vec<Rate>,
    pub(crate) is_assumed: bool,
    pub(crate) latency: Spread,
    pub(crate) elapsed: Duration,
    pub(crate) bound: Duration,
    /// Since 1970, if it starts now.
    pub(crate) ends: Duration,
}

impl Forecast {
    fn to_send(&self) -> u64 {
        let Earlier { answered, failed, .. } = self.tally.earlier;
        self.count.saturating_sub(answered + failed)
    }

    fn left(&self) -> u64 {
        let Figures { answered, failed, .. } = self.tally.figures;
        self.to_send().saturating_sub(answered + failed)
    }

    fn documents(&self) -> String {
        let PlanTally { figures, earlier, unusable, .. } = &self.tally;
        let parts = [
            (earlier.answered, "answered before"),
            (earlier.failed, "failed before"),
            (*unusable, "of them cannot be used"),
            (figures.failed - unusable, "of them fail"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!(", {count} {name}"));
        format!("documents {} to send{}", self.to_send(), parts.collect::<String>())
    }

    /// For people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let PlanTally { figures, spending, .. } = &self.tally;
        let mut lines = vec![self.documents()];
        for rate in &self.rates {
            let source =
                if self.is_assumed { "assumed; name yours with --limit, or see becalm probe" } else { "as given" };
            lines.push(format!("limit     {}, {source}", rate_in_words(rate)));
        }
        let Spread { least, most } = self.latency;
        let until = if most > least { format!(" to {}", in_words(most)) } else { String::new() };
        lines.push(format!("answers   after {}{until}, assumed; see --latency", in_words(least)));
        lines.push(format!("requests  {}, {} of them refused", self.sent, figures.refusals()));
        lines.push(format!("waits     {} in {} pauses", in_words(self.tally.paused), self.tally.pauses));
        lines.extend(tokens(spending).map(|tokens| tokens.replace(" out", " out at most")));
        let ends = local_time(milliseconds(self.ends), "%Y-%m-%d %H:%M:%S").unwrap_or_default();
        match (self.left(), self.stopped) {
            (0, _) => {
                let time = time(self.elapsed, self.bound, self.rates.iter().copied());
                lines.push(format!("{time}; ends {ends} if it starts now"));
            }
            (left, reason) => {
                let why = reason.map(|reason| format!(" by the {}", write::reason(reason))).unwrap_or_default();
                lines.push(format!("stops     after {}{why}; {left} documents are left", in_words(self.elapsed)));
            }
        }
        lines
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let PlanTally { figures, earlier, spending, .. } = &self.tally;
        let spent = spending.spent();
        json!({
            "documents": self.count,
            "answered_before": earlier.answered,
            "failed_before": earlier.failed,
            "answered": figures.answered,
            "failed": figures.failed,
            "left": self.left(),
            "stopped": self.stopped.map(write::reason),
            "requests": self.sent,
            "refusals": figures.refusals(),
            "paused_ms": milliseconds(self.tally.paused),
            "pauses": self.tally.pauses,
            "elapsed_ms": milliseconds(self.elapsed),
            "bound_ms": milliseconds(self.bound),
            "efficiency": efficiency(self.bound, self.elapsed),
            "ends_epoch_ms": milliseconds(self.ends),
            "limits": self.rates.iter().copied().map(RateLine::from).collect::<Vec<_>>(),
            "limits_are_assumed": self.is_assumed,
            "tokens_in": spent.input as u64,
            "tokens_out": spent.output as u64,
            "cost": spending.cost(),
        })
    }
}
