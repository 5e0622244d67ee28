//! `mesh-server completions`: prints a completion script for a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::cli::failure::Failure;
use crate::cli::output::write;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, mut program: Command) -> Result<(), Failure> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    write(None, &String::from_utf8_lossy(&script))
}
