//! `becalm mock-server`: the server models over TCP.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use becalm::server::{HintForm, Kind, Listening, Model, Server, Spread};

use crate::exit::Exit;
use crate::flags::values::{span, spread};

/// Run a rate-limited chat-completion server on this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// How it limits: rolling, rolling-strict (refused requests count too), token-bucket, fixed-window, concurrency or none
    #[arg(long, value_name = "KIND", default_value = "rolling")]
    limiter: Kind,
    /// What a refusal says about when to come back: seconds or date (Retry-After), ms (retry-after-ms) or none
    #[arg(long, value_name = "FORM", default_value = "seconds")]
    hint: HintForm,
    /// Requests per window
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    requests: u64,
    /// The window
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = positive)]
    window: Duration,
    /// Enforce the same rate per this shorter window: 60 per 60s become 1 per 1s
    #[arg(long, value_name = "SPAN", value_parser = positive)]
    subwindow: Option<Duration>,
    /// How long an answer takes, 1s, or 2s..20s to vary; refusals come at once
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = spread)]
    latency: Spread,
    /// How long a request is on its way before it counts: 150ms, or 0..300ms to vary
    #[arg(long, value_name = "SPAN", default_value = "0", value_parser = spread)]
    delay: Spread,
    /// Limit tokens too, so many per window: those of the prompt, estimated, and max_tokens (rolling and rolling-strict)
    #[arg(long, value_name = "K")]
    tokens: Option<u64>,
    /// Give tokens that an answer did not take back with it
    #[arg(long, requires = "tokens")]
    tokens_settled: bool,
    /// Let the hint count the refused request too (rolling-strict)
    #[arg(long)]
    hint_counts_refused: bool,
    /// Requests per window that other clients of the same key send; with concurrency, places that they hold
    #[arg(long, value_name = "N", default_value_t = 0)]
    others: u64,
    /// What varying spans are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// State the limit with every answer (x-ratelimit-*)
    #[arg(long)]
    limit_headers: bool,
    /// TCP port on the loopback interface; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

pub(crate) async fn serve(args: &Args) -> Result<Exit> {
    let is_rolling = matches!(args.limiter, Kind::Rolling | Kind::RollingStrict);
    ensure!(is_rolling || args.tokens.is_none(), "--tokens needs a rolling window\nhint: use --limiter rolling");
    ensure!(
        args.limiter == Kind::RollingStrict || !args.hint_counts_refused,
        "--hint-counts-refused needs refused requests that count\nhint: use --limiter rolling-strict"
    );
    let model = Model {
        limiter: args.limiter,
        hint: args.hint,
        hint_always: None,
        requests: args.requests,
        window: args.window,
        subwindow: args.subwindow,
        tokens: args.tokens,
        tokens_settled: args.tokens_settled,
        also: vec![],
        full_answers: false,
        hint_counts_refused: args.hint_counts_refused,
        delay: args.delay,
        latency: args.latency,
        others: args.others,
        seed: args.seed,
        limit_headers: args.limit_headers,
        keeps_timeline: false,
    };
    let server = Arc::new(Server::new(model));
    let listening = Listening::on_port(args.port, Arc::clone(&server)).await;
    let listening = listening.with_context(|| format!("cannot listen on port {}", args.port))?;
    println!("{}", listening.base_url());
    std::io::stdout().flush()?;
    tokio::signal::ctrl_c().await?;
    eprintln!("{}", serde_json::to_string(&server.stats())?);
    Ok(Exit::Done)
}

fn positive(text: &str) -> Result<Duration, String> {
    span(text).and_then(|span| if span.as_millis() > 0 { Ok(span) } else { Err("at least 1ms is needed".into()) })
}

const MORE: &str = "\
It prints its base URL, and answers POST …/chat/completions until it is ended. GET …/stats gives its counts as JSON.

Examples:
  becalm mock-server --port 8080 --window 10s
  becalm mock-server --limiter rolling-strict --hint none --latency 100ms..30s
  becalm mock-server --tokens 40000 --limit-headers";
