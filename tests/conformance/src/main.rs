//! The conformance kit as a program.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mesh_conformance::case::Case;
use mesh_conformance::cli::{self, Options};
use mesh_conformance::target::{SETTINGS, description};
use mesh_conformance::{case, files, report};

const GUIDE: &str = "\
Run the conformance cases of the Mesh protocol against a server

You have a server at http://127.0.0.1:8080/mesh, in any language, however little it can do so far.

1. Give it the schema and the rows of the cases. They are in kit/fixture: schema.json is the
   schema document; data.json has the rows, which are also in sqlite.sql, postgres.sql and
   mysql.sql. kit/README.md is the guide, kit/SPEC.md the protocol.
     mesh-conformance export kit

2. Run the cases of level 1, in the order of the specification, up to the first failure. It is
   shown with the rule, the request, the response, what is wrong with it, and a command that
   sends the request again. Mend it, and run the cases again.
     mesh-conformance --target http://127.0.0.1:8080/mesh --level L1 --fail-fast

3. Go on with the lists of level 2, or with a profile. With neither option, the cases of both
   levels run, and those of the profiles that the introspection of the server names.
     mesh-conformance --target http://127.0.0.1:8080/mesh --level L2
     mesh-conformance --target http://127.0.0.1:8080/mesh --profile caching

4. Level 3, level 4 and some profiles need your server with other settings, such as a login.
   Start it with each of them, and list the URLs in a file.
     mesh-conformance settings
     mesh-conformance --profile-file mine.toml";

const EXAMPLES: &str = "\
More examples:
  mesh-conformance --target https://127.0.0.1:8443/mesh --ca-file ca.pem --case 3.7-
  mesh-conformance --profile-file mine.toml --report report.html
  mesh-conformance --profile-file mine.toml --format json > mine.json
  mesh-conformance compare mine.json yours.json -o compared.html

Exit status: 0 if all cases are fine, 1 if a case fails, 2 if the run cannot begin or no server can be tested.";

/// Run the conformance cases of the Mesh protocol against a server
#[derive(Debug, Parser)]
#[command(version, about, long_about = GUIDE, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
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
    /// List the settings of servers, and the cases that need them
    Settings,
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
        Some(Command::List) => case::embedded().map(|cases| print(cases.iter().map(line))),
        Some(Command::Settings) => case::embedded().map(|cases| print(settings(&cases).into_iter())),
        Some(Command::Compare { reports, output }) => compare(reports, output),
    };
    done.map_or_else(|why| cli::failed(&why), |()| ExitCode::SUCCESS)
}

fn line(case: &Case) -> String {
    format!("{}\t{}\t{}\t{}", case.id, case.group(), case.rule.join(" "), case.why)
}

/// Describes each of the settings and the levels and profiles that need them.
fn settings(cases: &[Case]) -> Vec<String> {
    let describe = |name: &str| {
        let needing = cases.iter().filter(|case| case.server.as_deref().unwrap_or("open") == name);
        let groups: BTreeSet<&str> = needing.map(Case::group).collect();
        let groups = Vec::from_iter(groups).join(", ");
        format!("{name:<15}{}\n{:<15}needed by {groups}", description(name), "")
    };
    SETTINGS.map(describe).to_vec()
}

fn print(lines: impl Iterator<Item = String>) {
    use std::io::Write as _;

    let mut out = std::io::stdout().lock();
    for line in lines {
        // A closed pipe, as with `| head`, is not an error.
        if writeln!(out, "{line}").is_err() {
            break;
        }
    }
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
