//! The program: which command is meant, and how it ends. Data goes to standard output, everything else to standard error.
//!
//! Flags become settings in `flags`, `commands` has one file for each command, `batch` is what runs one, and what it says is
//! in `terminal` for people and in `events` for programs. `report` draws a page of both.

mod batch;
mod cached_sandbox;
mod commands;
mod error_report;
mod events;
mod exit;
mod flags;
mod report;
mod terminal;

use std::future::Future;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{completions, component, demo, man, mock_server, plan, probe, report as report_command, run};
use crate::exit::Exit;
use crate::flags::config_file;

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
    Report(report_command::Args),
    Component(component::Args),
    Completions(completions::Args),
    Man(man::Args),
}

fn main() -> ExitCode {
    let cli = config_file::matches(Cli::command())
        .map(|matches| Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()));
    match cli.and_then(|cli| carry_out(cli.command)) {
        Ok(exit) => exit.into(),
        Err(error) => error_report::report(&error).into(),
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
        Command::Report(args) => report_command::report(&args),
        Command::Component(args) => component::component(&args),
        Command::Completions(args) => Ok(completions::completions(&args, Cli::command())),
        Command::Man(_) => man::man(Cli::command()),
    }
}

fn in_real_time(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}
