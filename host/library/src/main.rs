//! The command line of becalm.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
