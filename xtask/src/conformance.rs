//! `cargo xtask conformance`: runs the conformance cases against the server of this repository, or another one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use mesh_conformance::cli;
use mesh_tests::kit::reference;
use mesh_tests::kit::run;

use crate::steps;

/// Run the conformance cases against the server of this repository, or another one
#[derive(Debug, Default, Parser)]
#[command(name = "cargo xtask conformance", disable_version_flag = true)]
#[group(skip)]
pub(crate) struct Options {
    #[command(flatten)]
    run: cli::Options,
    /// Test this program instead of building the server
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Parses the arguments after the name of the command. Prints the help if it is asked for.
pub(crate) fn parse_options(arguments: &[&str]) -> Result<Options, String> {
    let parsed = Options::try_parse_from([&["conformance"], arguments].concat());
    parsed.map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        error.to_string().trim_start_matches("error: ").trim_end().to_owned()
    })
}

/// Runs the cases and prints the report.
pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    cli::run(&options.run, |profile, cases, selection| {
        let program = options.program.clone().map_or_else(|| steps::build_server(root), Ok)?;
        let reference = reference::start(&program, profile)?;
        Ok(run::run(cases, &reference.target, selection))
    })
}
