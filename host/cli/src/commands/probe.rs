//! `becalm probe`: what an endpoint says of itself, read by the component as a run would read it.

mod findings;
mod one_shot;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use becalm::{Document, Happening, Pool, Settings};

use self::findings::Findings;
use self::one_shot::OneShot;
use crate::cached_sandbox::sandbox;
use crate::exit::Exit;
use crate::flags::endpoint::EndpointFlags;
use crate::terminal::escapes::printable;
use crate::terminal::output::data;

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
    endpoint: EndpointFlags,
    /// As one JSON object on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) async fn probe(args: &Args) -> Result<Exit> {
    let settings = settings(args);
    let (access, _) = args.endpoint.access(&settings.endpoint.base_url)?;
    let one_shot = OneShot::new(Pool::new(&settings.timeouts, &args.endpoint.route()?)?, access.clone());
    let mut session = sandbox()?.open(settings, access, Arc::new(one_shot.clone())).await?;
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
    let found = Findings { seen: one_shot.seen(), refusal, fault, outcome, limits };
    if args.json {
        data(found.json())?;
    } else {
        found.lines().iter().map(|line| printable(line)).try_for_each(data)?;
    }
    Ok(if found.seen.is_some() { Exit::Done } else { Exit::Halted })
}

/// No waiting and no jitter: what is said is the endpoint's. A second try would be allowed, so that the first is not said
/// to be the last; it is not made.
fn settings(args: &Args) -> Settings {
    let settings = Settings::new(&args.base_url, &args.model);
    let mut settings = settings.with_system_prompt(None).with_prompt("{text}").with_max_tokens(Some(16));
    args.endpoint.add_headers(&mut settings);
    settings.retry.max_attempts = 2;
    (settings.retry.base, settings.retry.cap, settings.retry.jitter, settings.retry.patience) = (1, 1, 0, 1);
    settings
}

const MORE: &str = "\
The key is taken from OPENAI_API_KEY, or from where --key-env says. The request is short and asks for 16 tokens; nothing is sent twice. \
Exit codes: 0 when any answer came, whatever it says; 4 when none did.

Examples:
  becalm probe --base-url https://api.example.com/v1 --model some-model
  becalm probe --model some-model --json";
