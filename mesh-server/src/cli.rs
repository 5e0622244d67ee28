//! What does each command do? From what was typed to an exit status.

mod args;
mod caller;
mod check;
mod completions;
mod compose;
mod database;
mod demo;
mod explain;
mod files;
mod hash_password;
mod health;
mod introspect;
mod log;
mod login;
mod mistyped;
mod openapi;
mod password;
mod query;
mod reload;
mod role;
mod serve;
mod source;
mod terminal;
mod types;
mod upload;
mod watch;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::config::{Config, FILE_VARIABLE, Flags, SettingsFile};
use args::{Cli, Command};

/// Runs the command that was typed. Exit status 0, 1 where a check found faults or a request failed, 2 for
/// wrong usage or a fault at start.
pub(crate) fn run() -> ExitCode {
    let done = match Cli::try_parse().unwrap_or_else(|error| mistyped::told(error).exit()).command {
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
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to be done where even this cannot be written.
            let _ = writeln!(io::stderr(), "{failure}");
            ExitCode::from(failure.status)
        }
    }
}

/// Why a command ended without doing what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: String,
}

impl Failure {
    /// Exit status 2: wrong usage, or a fault at start.
    pub(crate) fn start(message: impl fmt::Display) -> Self {
        Self { status: 2, message: format!("error: {message}") }
    }

    /// What is wrong, for a list of faults.
    pub(crate) fn fault(&self) -> &str {
        self.message.strip_prefix("error: ").unwrap_or(&self.message)
    }

    /// Exit status 1: a check found faults, or a request failed.
    pub(crate) fn found(message: impl fmt::Display) -> Self {
        Self { status: 1, message: message.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Writes a line to standard output. Who reads it may have closed it, as `head` does; that ends the command.
pub(crate) fn print(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::start(format!("output: {error}")))
}

/// Writes a text, which ends with a line, to a file, or to standard output where none is named.
pub(crate) fn write(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    match file {
        None => print(text.trim_end()),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::start(format!("cannot write {}: {error}", path.display()))),
    }
}

/// Writes a remark to standard error.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The settings from flags, environment and file.
pub(crate) fn settings(flags: Flags, file: Option<&Path>) -> Result<Config, Vec<String>> {
    settings_and_print(flags, file).map(|(config, _)| config)
}

/// The same, and as a file that says where each comes from.
pub(crate) fn settings_and_print(flags: Flags, file: Option<&Path>) -> Result<(Config, String), Vec<String>> {
    let named = std::env::var_os(FILE_VARIABLE).map(std::path::PathBuf::from);
    let file = match file.map(Path::to_owned).or(named) {
        None => None,
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path)
                .map_err(|error| vec![format!("cannot read the configuration {name}: {error}")])?;
            Some(SettingsFile { name, text })
        }
    };
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let loaded = Config::load(flags, environment, file.as_ref());
    for warning in &loaded.warnings {
        remark(format_args!("warning: {warning}"));
    }
    let printed = loaded.printed.to_toml();
    let config =
        loaded.config.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok((config, printed))
}

/// Many faults as one failure at start, a line each.
pub(crate) fn faults_at_start(faults: &[String]) -> Failure {
    Failure::start(faults.join("\nerror: "))
}
