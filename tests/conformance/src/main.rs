//! The conformance kit as a program.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mesh_conformance::cli::{self, Options};
use mesh_conformance::{case, files, report};

const EXAMPLES: &str = "\
Examples:
  mesh-conformance export kit                               write fixture, profile, cases and guide to a folder
  mesh-conformance --target http://127.0.0.1:8080/mesh --level L1
  mesh-conformance --target https://127.0.0.1:8443/mesh --ca-file ca.pem --case 3.7-
  mesh-conformance --profile-file mine.toml --fail-fast --report report.html
  mesh-conformance --profile-file mine.toml --format json > mine.json
  mesh-conformance compare mine.json yours.json -o compared.html

Exit status: 0 if all cases are fine, 1 if a case fails, 2 if the run cannot begin or no server can be tested.";

/// Run the conformance cases of the Mesh protocol against a server
#[derive(Debug, Parser)]
#[command(version, about, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
struct Program {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the fixture, the profile, the cases and the guide to a folder
    Export {
        /// The folder, which is created if it does not exist
        folder: PathBuf,
    },
    /// List the cases that the program contains
    List,
    /// Compare several servers in an HTML page, from reports of --format json
    Compare {
        /// The reports
        #[arg(required = true, num_args = 2..)]
        reports: Vec<PathBuf>,
        /// Write the page to this file
        #[arg(short, long, default_value = "compared.html")]
        output: PathBuf,
    },
}

fn main() -> ExitCode {
    let program = Program::parse();
    let done = match &program.command {
        None => {
            return cli::run(&program.options, |_, _, _| {
                Err("name a server: --target URL, or [servers] in a --profile-file; see --help".to_owned())
            });
        }
        Some(Command::Export { folder }) => files::export(folder),
        Some(Command::List) => list(),
        Some(Command::Compare { reports, output }) => compare(reports, output),
    };
    done.map_or_else(|why| cli::failed(&why), |()| ExitCode::SUCCESS)
}

fn list() -> Result<(), String> {
    use std::io::Write as _;

    let mut out = std::io::stdout().lock();
    for case in case::embedded()? {
        // A closed pipe, as with `| head`, is not an error.
        if writeln!(out, "{}\t{}\t{}\t{}", case.id, case.group(), case.rule.join(" "), case.why).is_err() {
            break;
        }
    }
    Ok(())
}

fn compare(files: &[PathBuf], output: &PathBuf) -> Result<(), String> {
    let mut reports = Vec::new();
    for file in files {
        let text =
            fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        reports.push(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?);
    }
    let page = report::compare::page(&reports)?;
    fs::write(output, page).map_err(|error| format!("cannot write {}: {error}", output.display()))
}
