//! Commands: what they are called, and how they end. Data goes to standard output, everything else to standard error.

mod args;
mod batch;
mod component;
mod defaults;
mod demo;
mod drive;
mod exit;
mod file_limit;
mod forecast;
mod json;
mod manual;
mod masked;
mod mock_server;
mod naive;
mod once;
mod plan;
mod probe;
mod progress;
mod report;
mod route;
mod run;
mod sandbox;
mod say;
mod speed;
mod stop;
mod summary;
mod values;
mod voice;

use std::future::Future;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::exit::Exit;

/// Brings a batch of prompts home through a rate limit.
#[derive(Debug, Parser)]
#[command(name = "becalm", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Plan(Box<plan::Args>),
    Demo(demo::Args),
    MockServer(mock_server::Args),
    Probe(probe::Args),
    Report(report::Args),
    Component(component::Args),
    Completions(manual::Completions),
    Man(manual::Manual),
}

fn main() -> ExitCode {
    let cli = defaults::matches(Cli::command())
        .map(|matches| Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()));
    match cli.and_then(|cli| carry_out(cli.command)) {
        Ok(exit) => exit.into(),
        Err(error) => exit::report(&error).into(),
    }
}

fn carry_out(command: Command) -> Result<Exit> {
    match command {
        Command::Run(args) if args.is_dry() => run::dry_run(&args),
        Command::Run(args) => in_real_time(run::run(&args)),
        Command::Plan(args) => plan::plan(&args),
        Command::Demo(args) => in_real_time(demo::demo(&args)),
        Command::MockServer(args) => in_real_time(mock_server::serve(&args)),
        Command::Probe(args) => in_real_time(probe::probe(&args)),
        Command::Report(args) => report::report(&args),
        Command::Component(args) => component::component(&args),
        Command::Completions(args) => Ok(manual::completions(&args, Cli::command())),
        Command::Man(_) => manual::manual(Cli::command()),
    }
}

fn in_real_time(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}
