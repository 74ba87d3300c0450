//! What a run came to, for people.

use std::time::Duration;

use becalm::outcomes::{Figures, Spending};
use becalm::{Limit, LimitSource, Rate, Unit};

use super::args::Earlier;
use super::stop::Reason;
use super::values::{count_in_words, in_words, limit_value, local_time, money, rate_in_words};

/// A run that is over.
pub(crate) struct Summary<'a> {
    pub(crate) figures: &'a Figures,
    pub(crate) elapsed: Duration,
    pub(crate) bound: Duration,
    /// All limits that were known at the end.
    pub(crate) limits: &'a [Limit],
    pub(crate) earlier: &'a Earlier,
    pub(crate) spending: &'a Spending,
    /// Never submitted, because the batch ended early.
    pub(crate) left: u64,
    /// Whether the results are in a file.
    pub(crate) can_go_on: bool,
    /// Why it ended early, if it did.
    pub(crate) stopped: Option<Reason>,
}

impl Summary<'_> {
    /// All lines of it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.counts()];
        // Of a batch that was broken off the bound says nothing.
        if self.figures.answered > 0 && self.unfinished() == 0 {
            lines.push(time(self.elapsed, self.bound, self.limits.iter().map(|limit| limit.rate)));
        }
        lines.extend(self.refusals());
        lines.extend(tokens(self.spending));
        lines.extend(self.learnt());
        let told = self.figures.halted.as_ref().map(|failure| failure.kind);
        let failures = self.figures.failures.iter().filter(|failure| Some(failure.kind) != told);
        lines.extend(failures.map(|failure| format!("failed    {}", failure.message)));
        lines.extend(
            self.figures
                .halted
                .iter()
                .map(|failure| format!("stopped   every request would fail: {}", failure.message)),
        );
        lines.extend(self.stopped.map(|reason| format!("stopped   {}", self.why(reason))));
        lines.extend(self.going_on());
        lines
    }

    /// Documents that a later run can bring home.
    const fn unfinished(&self) -> u64 {
        self.figures.postponed + self.left
    }

    fn counts(&self) -> String {
        let Figures { answered, failed, postponed, .. } = self.figures;
        let mut line = format!("documents {answered} answered, {failed} failed, {postponed} postponed");
        for (count, name) in [
            (self.earlier.answered, "answered before"),
            (self.earlier.failed, "failed before"),
            (self.left, "not sent"),
        ] {
            if count > 0 {
                line += &format!(", {count} {name}");
            }
        }
        line
    }

    fn refusals(&self) -> Option<String> {
        let (p50, p95) = (self.figures.wait(50)?, self.figures.wait(95)?);
        let (least, most) = self.figures.jitter()?;
        Some(format!(
            "refusals  {}, {} documents recovered; waits {} (p50), {} (p95), of it jitter {} to {}",
            self.figures.refusals(),
            self.figures.recovered,
            in_words(p50),
            in_words(p95),
            in_words(least),
            in_words(most)
        ))
    }

    /// The limits that nobody set, as flags for next time.
    fn learnt(&self) -> impl Iterator<Item = String> {
        self.limits.iter().filter_map(|Limit { rate, source }| {
            let source = match source {
                LimitSource::Headers => "stated by the endpoint",
                LimitSource::Refusals => "learnt from refusals",
                LimitSource::Settings => return None,
            };
            Some(format!("limit     {}, {source}; next time: --limit {}", rate_in_words(rate), limit_value(rate)))
        })
    }

    const fn why(&self, reason: Reason) -> &'static str {
        match reason {
            Reason::Asked => "as was asked",
            Reason::Deadline => "the deadline leaves no time for more",
            Reason::Budget if self.figures.answered + self.figures.failed == 0 => {
                "the budget is too small for one document, if it is as long as it may be"
            }
            Reason::Budget => "the budget might be passed with one document more",
        }
    }

    fn going_on(&self) -> Option<String> {
        if self.unfinished() == 0 {
            return None;
        }
        if !self.can_go_on {
            return Some(
                "to go on  name a file with -o next time; of results on standard output nothing is known".into(),
            );
        }
        if self.stopped == Some(Reason::Budget) {
            return Some("to go on  run the same command again; the budget is one of each run".into());
        }
        let until = self.figures.until_epoch_ms.and_then(|at| local_time(at, " after %Y-%m-%d %H:%M:%S"));
        Some(format!("to go on  run the same command again{}", until.unwrap_or_default()))
    }
}

/// The bound's share of the time; 1 is the best possible.
pub(crate) fn efficiency(bound: Duration, elapsed: Duration) -> f64 {
    bound.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// The time of a batch that is complete, against the bound, which knows nothing of tokens.
pub(crate) fn time(elapsed: Duration, bound: Duration, mut rates: impl Iterator<Item = Rate>) -> String {
    let time = format!("time      {}", in_words(elapsed));
    if rates.any(|rate| rate.unit == Unit::Tokens) {
        return time;
    }
    format!("{time}, bound {}, efficiency {:.2}", in_words(bound), efficiency(bound, elapsed).min(1.0))
}

/// Tokens and money so far.
pub(crate) fn tokens(spending: &Spending) -> Option<String> {
    let spent = spending.spent();
    let count = |tokens: f64| count_in_words(tokens as u64);
    let cost = spending.cost().map(|cost| format!("; cost {}", money(cost))).unwrap_or_default();
    let is_any = spent.input + spent.output > 0.0;
    is_any.then(|| format!("tokens    {} in, {} out{cost}", count(spent.input), count(spent.output)))
}
