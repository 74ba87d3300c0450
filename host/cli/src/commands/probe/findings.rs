//! What a probe found, for people and for programs.

use std::time::Duration;

use becalm::{Fault, Limit, LimitSource, Outcome, Refusal, Verdict};
use serde_json::{Value, json};

use super::one_shot::Seen;
use crate::events::limits::AdmitsLine;
use crate::terminal::escapes::in_one_line;
use crate::terminal::header_mask;
use crate::terminal::words::{admits_in_words, flag, in_words, milliseconds};

/// What was found.
pub(super) struct Findings {
    pub(super) seen: Option<Seen>,
    pub(super) refusal: Option<Refusal>,
    pub(super) fault: Option<Fault>,
    pub(super) outcome: Outcome,
    pub(super) limits: Vec<Limit>,
}

impl Findings {
    fn verdict(&self) -> &'static str {
        match &self.outcome.verdict {
            _ if self.refusal.is_some() => "refused",
            _ if self.fault.is_some() => "retry",
            Verdict::Answered(_) => "answered",
            Verdict::Failed(_) => "final",
            Verdict::Postponed(_) => "retry",
        }
    }

    /// The endpoint's hint, in milliseconds, and where it stood; our own rules are none.
    fn hint(&self) -> Option<(u64, &str)> {
        let of_refusal = self.refusal.as_ref().map(|refusal| (refusal.wait - refusal.jitter, refusal.source.as_str()));
        let of_fault = || self.fault.as_ref().map(|fault| (fault.wait - fault.jitter, fault.source.as_str()));
        of_refusal.or_else(of_fault).filter(|(_, source)| !OUR_OWN.contains(source))
    }

    fn message(&self) -> String {
        if let Some(fault) = &self.fault {
            return fault.message.clone();
        }
        match &self.outcome.verdict {
            _ if self.refusal.is_some() => self.refused(),
            Verdict::Failed(failure) => failure.message.clone(),
            Verdict::Answered(answer) => answer.note.clone().unwrap_or_else(|| "all is well".into()),
            Verdict::Postponed(postponement) => postponement.message.clone(),
        }
    }

    fn refused(&self) -> String {
        let message = "the endpoint does not admit a request now; a run would wait";
        match self.refusal.as_ref().map_or("", |refusal| refusal.message.as_str()) {
            "" => message.into(),
            says => format!("{message}; it says: {}", in_one_line(says)),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let hint = self.hint();
        json!({
            "status": self.seen.as_ref().map(|seen| seen.status.as_u16()),
            "verdict": self.verdict(),
            "wait_ms": hint.map(|(wait, _)| wait),
            "source": hint.map(|(_, source)| source),
            "limits": self.limits.iter().map(|limit| AdmitsLine::from(limit.admits)).collect::<Vec<_>>(),
            "message": self.message(),
            "taken_ms": self.seen.as_ref().map(|seen| milliseconds(seen.taken)),
        })
    }

    /// More than this one request may be in the window that headers tell of, and then they do not tell how long it is.
    fn why_no_limit(&self) -> &'static str {
        let names = self.seen.iter().flat_map(|seen| seen.headers.keys());
        match names.map(http::HeaderName::as_str).any(|name| name.contains("ratelimit")) {
            true => "not clear from the headers, which count other requests of this key too",
            false => "none stated",
        }
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let status = match &self.seen {
            Some(seen) => format!("HTTP {} after {}", seen.status.as_u16(), in_words(seen.taken)),
            None => "no answer".into(),
        };
        let mut lines = vec![format!("status   {status}"), format!("verdict  {}: {}", self.verdict(), self.message())];
        if let Some((wait, source)) = self.hint() {
            lines.push(format!("wait     {}, from {source}", in_words(Duration::from_millis(wait))));
        }
        for Limit { admits, source, .. } in &self.limits {
            let source = if *source == LimitSource::Headers { "stated by the endpoint" } else { "guessed" };
            lines.push(format!("limit    {}, {source}: {}", admits_in_words(admits), flag(admits)));
        }
        if self.limits.is_empty() {
            lines.push(format!("limit    {}; a run learns it, or set it with --limit", self.why_no_limit()));
        }
        let headers = self.seen.iter().flat_map(|seen| &seen.headers);
        lines.extend(headers.map(|(name, value)| header_mask::line(name.as_str(), value.as_bytes())));
        lines
    }
}

/// Sources of waits that are not the endpoint's.
const OUR_OWN: [&str; 4] = ["back-off", "probe", "fallback-wait", "max-in-flight"];
