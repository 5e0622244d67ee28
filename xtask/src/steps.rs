//! Runs the steps of a task one after another and prints the outcome and duration of each. A failing step does not
//! stop the following ones.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::optional;

/// A sequence of steps that run in the workspace directory.
pub(crate) struct Steps {
    root: PathBuf,
    failed: Vec<String>,
    /// Checks whose prerequisites are missing.
    skipped: Vec<String>,
    /// Exit code of the first failure.
    code: u8,
}

impl Steps {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, failed: Vec::new(), skipped: Vec::new(), code: 0 }
    }

    /// Runs cargo with these arguments, and prints its output after the line of the step.
    pub(crate) fn cargo(self, name: &str, arguments: &str) -> Self {
        self.cargo_with(name, arguments, &[])
    }

    /// Runs cargo with additional environment variables.
    pub(crate) fn cargo_with(self, name: &str, arguments: &str, variables: &[(&str, &str)]) -> Self {
        let command = command(&self.root, arguments, variables);
        self.program(name, command)
    }

    /// Runs a program.
    pub(crate) fn program(mut self, name: &str, mut command: Command) -> Self {
        eprint!("{name:<25} ");
        let start = Instant::now();
        let outcome = match command.output() {
            Ok(output) => {
                let printed = [output.stdout, output.stderr].concat();
                (output.status.code(), String::from_utf8_lossy(&printed).trim().to_owned())
            }
            Err(error) => (None, format!("cannot start {}: {error}", command.get_program().display())),
        };
        self.end(name, start, outcome);
        self
    }

    /// Runs a function that returns the faults that it found.
    pub(crate) fn check(mut self, name: &str, step: fn(&Path) -> Result<Vec<String>, String>) -> Self {
        eprint!("{name:<25} ");
        let start = Instant::now();
        let faults = step(&self.root).unwrap_or_else(|error| vec![error]);
        let code = i32::from(!faults.is_empty());
        self.end(name, start, (Some(code), faults.join("\n")));
        self
    }

    /// Records a step that has found faults, if it has.
    pub(crate) fn record_faults(mut self, name: &str, faults: Result<Vec<String>, String>) -> Self {
        eprint!("{name:<25} ");
        let faults = faults.unwrap_or_else(|error| vec![error]);
        self.end(name, Instant::now(), (Some(i32::from(!faults.is_empty())), faults.join("\n")));
        self
    }

    /// Records a step that could not be started.
    pub(crate) fn fail(mut self, name: &str, why: &str) -> Self {
        eprint!("{name:<25} ");
        self.end(name, Instant::now(), (None, why.to_owned()));
        self
    }

    /// Skips a check because something is missing, and says how to get it. If services are required, that fails
    /// unless the check is optional.
    pub(crate) fn skip(mut self, name: &str, missing: &str) -> Self {
        let reason = optional::reason(name);
        if reason.is_none() && mesh_tests::services_are_required() {
            return self.fail(name, missing);
        }
        let reason = reason.map_or_else(String::new, |reason| format!(" (optional: {reason})"));
        self.skipped.push(format!("{name}: {missing}{reason}"));
        self
    }

    /// Runs cargo as the last step, shows its output as it arrives, and returns its exit code.
    pub(crate) fn show(self, arguments: &str, variables: &[(&str, &str)]) -> ExitCode {
        eprintln!("cargo {arguments}");
        match command(&self.root, arguments, variables).status() {
            Ok(status) if status.success() => ExitCode::SUCCESS,
            Ok(status) => ExitCode::from(exit_code(status.code())),
            Err(error) => {
                eprintln!("error: cannot start cargo: {error}");
                ExitCode::FAILURE
            }
        }
    }

    pub(crate) fn failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Prints the failed steps and those that were left out, and returns the exit code.
    pub(crate) fn finish(self) -> ExitCode {
        for check in &self.skipped {
            eprintln!("not checked: {check}");
        }
        if self.failed() {
            eprintln!("failed: {}", self.failed.join("; "));
        }
        ExitCode::from(self.code)
    }

    /// Records the checks that were left out for [`optional::recorded`].
    pub(crate) fn record_skipped(self) -> Self {
        optional::record(&self.root, &self.skipped);
        self
    }

    fn end(&mut self, name: &str, start: Instant, (code, printed): (Option<i32>, String)) {
        let succeeded = code == Some(0);
        let word = if succeeded { "ok" } else { "FAILED" };
        eprintln!("{word:<8}{:>6.1} s", start.elapsed().as_secs_f64());
        if !printed.is_empty() {
            eprintln!("{printed}");
        }
        if !succeeded {
            self.code = if self.code == 0 { exit_code(code) } else { self.code };
            self.failed.push(name.to_owned());
        }
    }
}

/// Returns the exit code of a failure: never 0, even if a signal ended the program or the code does not fit into a byte.
fn exit_code(code: Option<i32>) -> u8 {
    code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0).unwrap_or(1)
}

/// Builds the server and returns the path of its binary.
pub(crate) fn build_server(root: &Path) -> Result<PathBuf, String> {
    let built = Steps::new(root.to_owned()).cargo("build mesh-server", "build --quiet -p mesh-cli");
    if built.failed() { Err("mesh-server does not build".to_owned()) } else { server() }
}

/// Returns the path of the server's binary, which cargo puts beside this program.
pub(crate) fn server() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot locate this program: {error}"))?;
    Ok(program.with_file_name(format!("mesh-server{}", std::env::consts::EXE_SUFFIX)))
}

/// Returns a cargo command with the environment of a shell. The variables that cargo sets for this program would
/// otherwise make build scripts run again each time.
pub(crate) fn command(root: &Path, arguments: &str, variables: &[(&str, &str)]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = plain_command(root, program);
    command.args(arguments.split_whitespace());
    command.envs(variables.iter().copied());
    command
}

/// Returns a command without the variables that cargo sets for this program.
pub(crate) fn plain_command(root: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_never_gives_exit_code_0() {
        let codes = [Some(101), Some(1), Some(0), Some(256), Some(-1), None].map(exit_code);
        assert_eq!(codes, [101, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn optional_checks_may_be_skipped() {
        let steps = Steps::new(std::env::temp_dir()).skip("advisories", "no database");
        assert!(!steps.failed());
        let expected = "advisories: no database (optional: the advisory database is a git repository on another host \
                        than the packages)";
        assert_eq!(steps.skipped, [expected]);
        let steps = Steps::new(std::env::temp_dir()).skip("deny", "no cargo-deny");
        assert_eq!(steps.failed(), mesh_tests::services_are_required());
    }

    #[test]
    fn every_step_runs_and_the_first_failure_gives_the_exit_code() {
        let good = |_: &Path| Ok(Vec::new());
        let bad = |_: &Path| Ok(vec!["wrong".to_owned()]);
        let root = std::env::temp_dir();
        let steps = Steps::new(root).check("one", bad).check("two", good).check("three", bad);
        assert_eq!((steps.code, steps.failed.join(" ")), (1, "one three".to_owned()));
    }
}
