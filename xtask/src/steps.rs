//! How is a chore run? Step by step, a line and a duration for each, and all of them even if one fails.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A run of steps in the workspace's folder.
pub(crate) struct Steps {
    root: PathBuf,
    failed: Vec<String>,
    /// The status of the first failure.
    code: u8,
}

impl Steps {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, failed: Vec::new(), code: 0 }
    }

    /// Runs cargo with these arguments; what it says is shown after the step's line.
    pub(crate) fn cargo(self, name: &str, arguments: &str) -> Self {
        self.cargo_with(name, arguments, &[])
    }

    /// The same with environment variables.
    pub(crate) fn cargo_with(self, name: &str, arguments: &str, variables: &[(&str, &str)]) -> Self {
        let command = command(&self.root, arguments, variables);
        self.program(name, command)
    }

    /// The same with another program.
    pub(crate) fn program(mut self, name: &str, mut command: Command) -> Self {
        eprint!("{name:<26}");
        let start = Instant::now();
        let outcome = match command.output() {
            Ok(output) => {
                let said = [output.stdout, output.stderr].concat();
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                (output.status.code(), said)
            }
            Err(error) => (None, format!("cannot start {}: {error}", command.get_program().display())),
        };
        self.end(name, start, outcome);
        self
    }

    /// Runs a step that is a function of this program and returns what is wrong.
    pub(crate) fn inside(mut self, name: &str, step: fn(&Path) -> Result<Vec<String>, String>) -> Self {
        eprint!("{name:<26}");
        let start = Instant::now();
        let faults = step(&self.root).unwrap_or_else(|error| vec![error]);
        let code = i32::from(!faults.is_empty());
        self.end(name, start, (Some(code), faults.join("\n")));
        self
    }

    /// A step that cannot even begin.
    pub(crate) fn wrong(mut self, name: &str, why: &str) -> Self {
        eprint!("{name:<26}");
        self.end(name, Instant::now(), (None, why.to_owned()));
        self
    }

    /// Runs cargo as the last step, with all its output; its status is the chore's.
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

    /// Says which steps failed.
    pub(crate) fn finish(self) -> ExitCode {
        if self.failed() {
            eprintln!("failed: {}", self.failed.join("; "));
        }
        ExitCode::from(self.code)
    }

    fn end(&mut self, name: &str, start: Instant, (code, said): (Option<i32>, String)) {
        let good = code == Some(0);
        let word = if good { "ok" } else { "FAILED" };
        eprintln!("{word:<8}{:>6.1} s", start.elapsed().as_secs_f64());
        if !said.is_empty() {
            eprintln!("{said}");
        }
        if !good {
            self.code = if self.code == 0 { exit_code(code) } else { self.code };
            self.failed.push(name.to_owned());
        }
    }
}

/// The status of a failure: never 0, also where a signal ended the program or the number does not fit.
fn exit_code(code: Option<i32>) -> u8 {
    code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0).unwrap_or(1)
}

/// Cargo as it would be if called from a shell: the variables by which cargo describes this very program
/// would make build scripts that watch them run again each time.
pub(crate) fn command(root: &Path, arguments: &str, variables: &[(&str, &str)]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = plain(root, program);
    command.args(arguments.split_whitespace());
    command.envs(variables.iter().copied());
    command
}

/// A program without the variables by which cargo describes this very one.
pub(crate) fn plain(root: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
        if own.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_never_ends_in_success() {
        let codes = [Some(101), Some(1), Some(0), Some(256), Some(-1), None].map(exit_code);
        assert_eq!(codes, [101, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn every_step_runs_and_the_first_failure_gives_the_status() {
        let good = |_: &Path| Ok(Vec::new());
        let bad = |_: &Path| Ok(vec!["wrong".to_owned()]);
        let root = std::env::temp_dir();
        let steps = Steps::new(root).inside("one", bad).inside("two", good).inside("three", bad);
        assert_eq!((steps.code, steps.failed.join(" ")), (1, "one three".to_owned()));
    }
}
