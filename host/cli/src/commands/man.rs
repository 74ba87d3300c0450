//! `becalm man`: written by clap's own crate, from the same definitions as `--help`.

use std::io::{Write, stdout};

use anyhow::Result;
use clap::Command;

use crate::exit::Exit;

/// Print the manual, a page for every command, for `man -l -`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn man(mut command: Command) -> Result<Exit> {
    command.build();
    let mut pages = vec![];
    clap_mangen::Man::new(command.clone()).render(&mut pages)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        clap_mangen::Man::new(subcommand.clone()).render(&mut pages)?;
    }
    stdout().write_all(&pages)?;
    Ok(Exit::Done)
}
