//! `becalm probe`: what an endpoint says of itself, read by the component as a run would read it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use becalm::{Access, Document, Fault, Happening, Limit, LimitSource, Outcome, Pool, Refusal, Settings, Verdict};
use serde_json::{Value, json};

use super::exit::Exit;
use super::json;
use super::masked;
use super::once::{Once, Seen};
use super::route;
use super::sandbox::sandbox;
use super::say::{data, in_one_line, printable};
use super::values::{admits_in_words, flag, in_words, milliseconds};

/// Send one request, and say what the answer means.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// Where the endpoint is, up to and without /chat/completions
    #[arg(long, env = "OPENAI_BASE_URL", value_name = "URL", help_heading = "Endpoint")]
    base_url: String,
    /// The model, as the endpoint calls it
    #[arg(long, value_name = "NAME", help_heading = "Endpoint")]
    model: String,
    #[command(flatten)]
    route: route::Args,
    /// As one JSON object on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) async fn probe(args: &Args) -> Result<Exit> {
    let sandbox = sandbox()?;
    let settings = settings(sandbox.default_settings().await?, args);
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let once = Once::new(Pool::new(&settings.timeouts, &args.route.route()?)?, access.clone());
    let mut session = sandbox.open(settings, access, Arc::new(once.clone())).await?;
    session.submit(vec![Document::text("probe", "Say OK.")]).await?;
    let (mut refusal, mut fault) = (None, None);
    let outcome = 'outcome: loop {
        for event in session.next(Duration::from_secs(1)).await? {
            match event.what {
                Happening::Refused(refused) => {
                    refusal = Some(refused);
                    session.stop().await?;
                }
                Happening::Faulted(faulted) => {
                    fault = Some(faulted);
                    session.stop().await?;
                }
                Happening::Outcome(outcome) => break 'outcome outcome,
                _ => {}
            }
        }
    };
    let limits = session.status().await?.limits;
    let found = Found { seen: once.seen(), refusal, fault, outcome, limits };
    if args.json {
        data(found.json())?;
    } else {
        found.lines().iter().map(|line| printable(line)).try_for_each(data)?;
    }
    Ok(if found.seen.is_some() { Exit::Done } else { Exit::Halted })
}

/// No waiting and no jitter: what is said is the endpoint's. A second try would be allowed, so that the first is not said
/// to be the last; it is not made.
fn settings(defaults: Settings, args: &Args) -> Settings {
    let mut settings = defaults;
    settings.endpoint.base_url.clone_from(&args.base_url);
    settings.chat.model.clone_from(&args.model);
    settings.chat.system_prompt = None;
    settings.chat.prompt_template = "{text}".into();
    settings.chat.max_tokens = Some(16);
    settings.retry.max_attempts = 2;
    (settings.retry.base, settings.retry.cap, settings.retry.jitter, settings.retry.patience) = (1, 1, 0, 1);
    settings
}

/// What was found.
struct Found {
    seen: Option<Seen>,
    refusal: Option<Refusal>,
    fault: Option<Fault>,
    outcome: Outcome,
    limits: Vec<Limit>,
}

impl Found {
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

    fn json(&self) -> Value {
        let hint = self.hint();
        json!({
            "status": self.seen.as_ref().map(|seen| seen.status.as_u16()),
            "verdict": self.verdict(),
            "wait_ms": hint.map(|(wait, _)| wait),
            "source": hint.map(|(_, source)| source),
            "limits": self.limits.iter().map(|limit| json::admits(&limit.admits)).collect::<Vec<_>>(),
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

    fn lines(&self) -> Vec<String> {
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
        lines.extend(headers.map(|(name, value)| masked::line(name.as_str(), value.as_bytes())));
        lines
    }
}

/// Sources of waits that are not the endpoint's.
const OUR_OWN: [&str; 4] = ["back-off", "probe", "fallback-wait", "max-in-flight"];

const MORE: &str = "\
The key is taken from OPENAI_API_KEY. The request is short and asks for 16 tokens; nothing is sent twice. \
Exit codes: 0 when any answer came, whatever it says; 4 when none did.

Examples:
  becalm probe --base-url https://api.example.com/v1 --model some-model
  becalm probe --model some-model --json";
