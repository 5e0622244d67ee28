//! The command line: arguments, commands and exit statuses.

mod args;
mod client;
mod commands;
mod failure;
mod output;
mod role_schema;
mod server;
mod settings;
mod terminal;
mod usage_hints;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use commands::{
    check, completions, demo, explain, files, hash_password, health, introspect, openapi, query, serve,
    types, upload,
};

/// Runs the command of the process's arguments. The exit status is 0 for success, 1 if a check found faults or a request
/// failed, and 2 for wrong usage or a fault at start.
pub(crate) fn run() -> ExitCode {
    let result = match Cli::try_parse().unwrap_or_else(|error| usage_hints::add_hint(error).exit()).command {
        Command::Serve(args) => serve::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Introspect(args) => introspect::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Types(args) => types::run(&args),
        Command::Openapi(args) => openapi::run(&args),
        Command::JsonSchema(args) => openapi::run_json_schema(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Health(args) => health::run(&args),
        Command::HashPassword => hash_password::run(),
        Command::Upload(args) => upload::run(&args),
        Command::Files(args) => files::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::remark(&failure);
            ExitCode::from(failure.status)
        }
    }
}
