//! `mesh-server policy-test`: runs expectations about policies from a file.

mod expected;
mod file;
mod runner;
mod suite;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::args::SourceArgs;
use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::output::print;
use crate::cli::terminal::{Colors, Style, escaped_lines};
use expected::Mismatch;
use runner::Runner;
use suite::{Case, Suite};

/// Arguments of `policy-test`.
#[derive(Debug, Args)]
pub(crate) struct PolicyTestArgs {
    /// TOML file with the expectations
    file: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
    /// Print JSON: each case with its name, its line, and what was expected and got
    #[arg(long)]
    json: bool,
}

/// A case that was run.
struct Outcome<'s> {
    case: &'s Case,
    mismatches: Vec<Mismatch>,
}

pub(crate) fn run(args: &PolicyTestArgs) -> Result<(), Failure> {
    let name = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).context(format_args!("cannot read {name}"))?;
    let (config, source) = args.source.open()?;
    let runner = Runner::new(&config, source)?;
    let suite = Suite::parse(&name, &text, &runner.sources())?;
    let results = runner.run(&suite)?;
    let outcomes: Vec<_> =
        suite.cases.iter().zip(results).map(|(case, mismatches)| Outcome { case, mismatches }).collect();
    let failed = outcomes.iter().filter(|outcome| !outcome.mismatches.is_empty()).count();
    let counts = format!("{} cases: {} passed, {failed} failed", outcomes.len(), outcomes.len() - failed);
    print(if args.json { to_json(&outcomes) } else { to_text(&name, &outcomes) + &counts })?;
    if failed == 0 {
        Ok(())
    } else {
        Err(Failure::check_failed(format_args!("{name}: {failed} of {} cases failed", outcomes.len())))
    }
}

/// Returns a line for each case. Failed cases also have the expected and the actual results.
fn to_text(file: &str, outcomes: &[Outcome<'_>]) -> String {
    let colors = Colors::for_stream(&std::io::stdout());
    let mut out = String::new();
    for Outcome { case, mismatches } in outcomes {
        let line = match mismatches.is_empty() {
            true => format!("{} {}", colors.paint(Style::Text, "ok  "), escaped_lines(&case.name)),
            false => format!(
                "{} {} ({file}:{})",
                colors.paint(Style::Fault, "FAIL"),
                escaped_lines(&case.name),
                case.line
            ),
        };
        out.push_str(&line);
        out.push('\n');
        for Mismatch { expected, got } in mismatches {
            let (expected, got) = (escaped_lines(expected), escaped_lines(got));
            out.push_str(&format!("     expected {expected}\n     got      {got}\n"));
        }
    }
    out
}

fn to_json(outcomes: &[Outcome<'_>]) -> String {
    let cases = outcomes.iter().map(|Outcome { case, mismatches }| {
        json!({"name": case.name, "line": case.line, "passed": mismatches.is_empty(), "mismatches": mismatches})
    });
    format!("{:#}", json!({"cases": cases.collect::<Vec<_>>()}))
}
