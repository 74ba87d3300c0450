//! Commands: what they are called, and how they end. Data goes to standard output, everything else to standard error.

mod args;
mod component;
mod demo;
mod drive;
mod exit;
mod json;
mod manual;
mod mock_server;
mod naive;
mod once;
mod probe;
mod progress;
mod run;
mod stop;
mod summary;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Brings a batch of prompts home through a rate limit.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Send a batch of documents and bring every one home
    Run(Box<run::Args>),
    /// Show the difference on a rate-limited server of its own: the usual retries, then becalm
    Demo(demo::Args),
    /// Run a rate-limited chat-completion server on this machine
    MockServer(mock_server::Args),
    /// Send one request, and say what the answer means
    Probe(probe::Args),
    /// Write the embedded component, or say what it imports and exports
    Component(component::Args),
    /// Print a script that completes commands and flags in a shell
    Completions(manual::Completions),
    /// Print the manual
    Man(manual::Manual),
}

pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(async {
            match cli.command {
                Command::Run(args) => run::run(&args).await,
                Command::Demo(args) => demo::demo(&args).await,
                Command::MockServer(args) => mock_server::serve(&args).await,
                Command::Probe(args) => probe::probe(&args).await,
                Command::Component(args) => component::component(&args),
                Command::Completions(args) => Ok(manual::completions(&args, Cli::command())),
                Command::Man(_) => manual::manual(Cli::command()),
            }
        })
    });
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => exit::report(&error).into(),
    }
}
