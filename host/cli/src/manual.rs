//! `becalm completions` and `becalm man`: both are written by clap's own crates, from the same definitions as `--help`.

use std::io::{Write, stdout};

use anyhow::Result;
use clap::Command;
use clap_complete::Shell;

use super::exit::Exit;

/// Print a script that completes commands and flags in a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual, a page for every command, for `man -l -`.
#[derive(Debug, clap::Args)]
pub(crate) struct Manual {}

pub(crate) fn completions(args: &Completions, mut command: Command) -> Exit {
    clap_complete::generate(args.shell, &mut command, "becalm", &mut stdout());
    Exit::Done
}

pub(crate) fn manual(mut command: Command) -> Result<Exit> {
    command.build();
    let mut pages = vec![];
    clap_mangen::Man::new(command.clone()).render(&mut pages)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        clap_mangen::Man::new(subcommand.clone()).render(&mut pages)?;
    }
    stdout().write_all(&pages)?;
    Ok(Exit::Done)
}

const MORE: &str = "\
Example:
  becalm completions bash > ~/.local/share/bash-completion/completions/becalm";
