//! `becalm completions`: written by clap's own crate, from the same definitions as `--help`.

use std::io::stdout;

use clap::Command;
use clap_complete::Shell;

use crate::exit::Exit;

/// Print a script that completes commands and flags in a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(args: &Args, mut command: Command) -> Exit {
    clap_complete::generate(args.shell, &mut command, "becalm", &mut stdout());
    Exit::Done
}

const MORE: &str = "\
Example:
  becalm completions bash > ~/.local/share/bash-completion/completions/becalm";
