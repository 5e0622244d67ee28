//! `cargo xtask test`: builds everything and runs the tests.

use std::path::Path;
use std::process::ExitCode;

use mesh_tests::Part;

use crate::steps::Steps;
use crate::{missing, optional, pages};

/// The arguments of every test build. One set of features is used throughout, because cargo builds dependencies again
/// for each set.
const BUILD: &str = "test --workspace --features mesh-cli/s3,mesh-tests/s3";

/// Tests that no form of the command runs, with the commands that run them.
const SEPARATE: &[(&str, &str)] = &[
    ("long runs of mixed traffic and random queries", "cargo xtask soak"),
    ("coverage-guided fuzzing", "cargo xtask fuzz"),
];

/// The tests to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All except the parts that need other programs, and the examples in the documentation of the crates.
    Quick,
    All,
    /// Those whose names contain a text.
    Matching(String),
}

/// Parses the arguments after the name of the command.
pub(crate) fn parse_options(arguments: &[&str]) -> Result<Selection, String> {
    match arguments {
        [] => Ok(Selection::Quick),
        ["--all"] => Ok(Selection::All),
        [option, ..] if option.starts_with('-') => Err(format!("'test' has no option '{option}'")),
        [pattern] => Ok(Selection::Matching((*pattern).to_owned())),
        _ => Err("'test' takes one pattern, a part of the names of tests".to_owned()),
    }
}

/// Runs tests. Those in `tests/` start the server's binary, so everything is built first. The summary of the test run ends the
/// output, so what is left out is listed before it.
pub(crate) fn run(root: &Path, selection: &Selection) -> ExitCode {
    let steps = Steps::new(root.to_owned()).cargo("build", &format!("{BUILD} --quiet --no-run"));
    if steps.failed() {
        return steps.finish();
    }
    // Many tests wait for servers, so there are more threads than processors.
    let threads = std::thread::available_parallelism().map_or(4, |cores| cores.get() + 2).to_string();
    let threads = std::env::var("RUST_TEST_THREADS").unwrap_or(threads);
    let threads = ("RUST_TEST_THREADS", threads.as_str());
    match selection {
        Selection::Quick => {
            for part in Part::ALL {
                eprintln!("left out: {}; run `cargo xtask test --all`", part.what());
            }
            let arguments = format!("{BUILD} --lib --bins --tests --no-fail-fast");
            steps.show(&arguments, &[threads, (mesh_tests::LEAVE_OUT, &Part::names())])
        }
        Selection::All => {
            list_left_out(root);
            steps.show(&format!("{BUILD} --no-fail-fast"), &[threads])
        }
        Selection::Matching(pattern) => {
            steps.show(&format!("{BUILD} --no-fail-fast -- {pattern}"), &[threads])
        }
    }
}

/// Lists what `--all` leaves out on this machine.
fn list_left_out(root: &Path) {
    for (what, how) in SEPARATE {
        eprintln!("skipped: {what}; run `{how}`");
    }
    for check in optional::recorded(root) {
        eprintln!("not checked: {check}");
    }
    for what in missing::skipped(root) {
        eprintln!("skipped: {what}");
    }
    for block in pages::skipped(root) {
        eprintln!("skipped: a command in {block}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_or_all_tests_are_selected() {
        assert_eq!(parse_options(&[]), Ok(Selection::Quick));
        assert_eq!(parse_options(&["--all"]), Ok(Selection::All));
        assert_eq!(parse_options(&["events::"]), Ok(Selection::Matching("events::".to_owned())));
        assert!(parse_options(&["--everything"]).is_err() && parse_options(&["a", "b"]).is_err());
    }

    #[test]
    fn help_lists_the_commands_of_separate_tests() {
        for (_, how) in SEPARATE {
            assert!(crate::HELP.contains(how.trim_start_matches("cargo xtask ")), "{how}");
        }
    }
}
