//! `mesh-server completions`: prints a completion script for a shell.

use clap::CommandFactory as _;

use crate::cli::args::{Cli, CompletionsArgs};
use crate::cli::failure::Failure;
use crate::cli::output::write;

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    write(None, &String::from_utf8_lossy(&script))
}
