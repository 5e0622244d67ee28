//! The `mesh-server` command.

mod cli;
mod config;
mod demo;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
