//! What a run came to, for people.

use std::time::Duration;

use becalm::outcomes::{Figures, Shortfall, Spending};
use becalm::{Limit, LimitSource, Rate, Unit};

use crate::batch::earlier::Earlier;
use crate::batch::stop::Reason;
use crate::terminal::words::{admits_in_words, count_in_words, flag, in_words, local_time, money};

/// A run that is over.
pub(crate) struct Summary<'a> {
    pub(crate) figures: &'a Figures,
    pub(crate) elapsed: Duration,
    pub(crate) bound: Duration,
    /// It follows from what was learnt: then it shows how well that was kept to, not whether it is right.
    pub(crate) is_bound_learnt: bool,
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
            let rates = self.limits.iter().filter_map(|limit| limit.admits.rate());
            lines.push(match self.is_bound_learnt {
                true => pace(self.elapsed, self.bound),
                false => time(self.elapsed, self.bound, rates),
            });
        }
        lines.extend(self.shortfalls());
        lines.extend(self.refusals());
        lines.extend(tokens(self.spending));
        lines.extend(self.limits.iter().filter_map(learnt));
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

    /// Answers that are paid for and none to build on.
    fn shortfalls(&self) -> Option<String> {
        let short = Shortfall::ALL.into_iter().zip(self.figures.shortfalls).filter(|(_, count)| *count > 0);
        let (names, words): (Vec<_>, Vec<_>) = short
            .map(|(shortfall, count)| {
                let words = match shortfall {
                    Shortfall::CutOff => format!("{count} cut off at max_tokens"),
                    Shortfall::Empty => format!("{count} without text"),
                    Shortfall::RefusedByModel => format!("{count} refused by the model"),
                };
                (shortfall.name(), words)
            })
            .unzip();
        let again = names.join(",");
        (!words.is_empty()).then(|| format!("answers   {}; --again {again} sends them again", words.join(", ")))
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

    const fn why(&self, reason: Reason) -> &'static str {
        match reason {
            Reason::Interrupted => "as was asked",
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

/// A limit that nobody set: as a flag for next time, if it is worth one.
fn learnt(limit: &Limit) -> Option<String> {
    if let Some(believed) = believed(limit) {
        return Some(format!("limit     {believed}"));
    }
    let source = match limit.source {
        LimitSource::Headers => "stated by the endpoint",
        LimitSource::Refusals => "learnt from refusals",
        LimitSource::Settings => return None,
    };
    Some(format!("limit     {}, {source}; next time: {}", admits_in_words(&limit.admits), flag(&limit.admits)))
}

/// A limit of which too little was seen to be sure, in words.
pub(crate) fn believed(limit: &Limit) -> Option<String> {
    let is_unsure = limit.source == LimitSource::Refusals && limit.cycles < SURE;
    is_unsure.then(|| format!("believed so far: {}, not sure yet", admits_in_words(&limit.admits)))
}

/// The bound's share of the time; 1 is the best possible.
pub(crate) fn efficiency(bound: Duration, elapsed: Duration) -> f64 {
    bound.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// The same where nobody stated a limit.
fn pace(elapsed: Duration, bound: Duration) -> String {
    let kept = 100.0 * efficiency(bound, elapsed).min(1.0);
    format!("time      {}; pace kept: {kept:.0} % of the limit as learnt", in_words(elapsed))
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

/// From so many cycles on, the contract says, a limit is worth setting next time.
const SURE: u32 = 3;

#[cfg(test)]
mod tests {
    use becalm::Admits;

    use super::*;

    #[test]
    fn a_limit_is_a_flag_for_next_time_once_it_is_sure() {
        let rate = Admits::Rate(Rate { unit: Unit::Requests, amount: 10, window: 60_000 });
        let said = |admits, source, cycles| learnt(&Limit { admits, source, cycles });
        let is = |words: &str| Some(format!("limit     {words}"));
        assert_eq!(said(rate, LimitSource::Settings, 0), None);
        assert_eq!(
            said(rate, LimitSource::Headers, 0),
            is("10 requests per 1 min 00 s, stated by the endpoint; next time: --limit 10/60s")
        );
        assert_eq!(
            said(rate, LimitSource::Refusals, 3),
            is("10 requests per 1 min 00 s, learnt from refusals; next time: --limit 10/60s")
        );
        assert_eq!(
            said(rate, LimitSource::Refusals, 2),
            is("believed so far: 10 requests per 1 min 00 s, not sure yet")
        );
        assert_eq!(
            said(Admits::InFlight(3), LimitSource::Refusals, 5),
            is("3 requests in flight, learnt from refusals; next time: --max-in-flight 3")
        );
        assert_eq!(
            said(Admits::InFlight(1), LimitSource::Refusals, 0),
            is("believed so far: 1 requests in flight, not sure yet")
        );
    }
}
