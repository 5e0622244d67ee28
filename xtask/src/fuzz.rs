//! `cargo xtask fuzz`: runs the fuzz targets, guided by coverage if a nightly compiler with `cargo fuzz` is installed,
//! else by random mutations of the corpora.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::arguments::{positive, split};
use crate::steps::{self, Steps};

const SECONDS: u64 = 60;

/// Bounds of the fuzzer: an input that needs a gibibyte or five seconds counts as a failure.
const FUZZER_OPTIONS: [&str; 3] = ["-rss_limit_mb=1024", "-timeout=5", "-print_final_stats=1"];

/// Command-line options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// How long each target runs.
    seconds: u64,
    /// `None` runs all targets.
    target: Option<String>,
    /// Do not use `cargo fuzz`, even if it is installed.
    stable: bool,
}

pub(crate) fn parse_options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { seconds: SECONDS, target: None, stable: false };
    let mut rest = split(arguments);
    while let Some(argument) = rest.next() {
        match argument {
            "--seconds" => options.seconds = positive(argument, rest.next())?,
            "--stable" => options.stable = true,
            name if !name.starts_with('-') && options.target.is_none() => {
                options.target = Some(name.to_owned());
            }
            other => return Err(format!("'fuzz' takes `[--seconds N] [--stable] [TARGET]`, not '{other}'")),
        }
    }
    Ok(options)
}

pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    let targets = match targets(root) {
        Ok(targets) => targets,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::FAILURE;
        }
    };
    let wanted: Vec<&String> =
        targets.iter().filter(|name| options.target.as_ref().is_none_or(|target| target == *name)).collect();
    if wanted.is_empty() {
        eprintln!("error: no such target; the targets are {}", targets.join(", "));
        return ExitCode::from(2);
    }
    if !options.stable && has_fuzzer() {
        return guided(root, &wanted, options.seconds);
    }
    if !options.stable {
        eprintln!(
            "running without coverage guidance; to install the tools:\n  rustup toolchain install nightly\n  \
             cargo install cargo-fuzz"
        );
    }
    unguided(root, options)
}

/// Returns the names of the fuzz targets, sorted.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz").join("fuzz_targets");
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

fn has_fuzzer() -> bool {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs `cargo fuzz`. New corpus entries are written below `target/`, failing inputs below `fuzz/artifacts/`.
fn guided(root: &Path, targets: &[&String], seconds: u64) -> ExitCode {
    let mut failed = Vec::new();
    for target in targets {
        let kept = root.join("target").join("fuzz-corpus").join(target);
        if let Err(error) = std::fs::create_dir_all(&kept) {
            eprintln!("error: cannot create {}: {error}", kept.display());
            return ExitCode::FAILURE;
        }
        eprintln!("fuzz {target}: {seconds} seconds");
        // `+nightly` needs the rustup proxy, not the cargo binary that started this program.
        let mut command = steps::plain_command(root, "cargo");
        command.current_dir(root.join("fuzz"));
        // The workspace forbids unsafe code, so sanitizers would only cost time.
        command.args(["+nightly", "fuzz", "run", "--sanitizer", "none", target.as_str()]);
        command.arg(kept).arg(Path::new("corpus").join(target)).arg("--");
        command.arg(format!("-max_total_time={seconds}")).args(FUZZER_OPTIONS);
        if std::env::var_os("CARGO_TARGET_DIR").is_none() {
            command.env("CARGO_TARGET_DIR", root.join("target").join("fuzz"));
        }
        if !command.status().is_ok_and(|status| status.success()) {
            failed.push(target.as_str());
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("failed: {}", failed.join(", "));
    ExitCode::FAILURE
}

fn unguided(root: &Path, options: &Options) -> ExitCode {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, seed) = (options.seconds.to_string(), now.as_secs().to_string());
    let filter = options
        .target
        .as_ref()
        .map_or_else(|| "fuzz::".to_owned(), |target| format!("fuzz::{target} --exact"));
    let command = format!("test --release -p mesh-server --test it -- --nocapture {filter}");
    Steps::new(root.to_path_buf())
        .show(&command, &[("MESH_FUZZ_SECONDS", &seconds), ("MESH_FUZZ_SEED", &seed)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_come_in_any_order() {
        let all = Options { seconds: 60, target: None, stable: false };
        assert_eq!(parse_options(&[]), Ok(all));
        let one = Options { seconds: 5, target: Some("whole".to_owned()), stable: true };
        assert_eq!(parse_options(&["whole", "--seconds", "5", "--stable"]), Ok(one));
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["a", "b"], &["--fast"]] {
            assert!(parse_options(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn targets_are_found() {
        let targets = targets(&crate::root()).unwrap();
        assert!(targets.iter().any(|name| name == "whole"), "{targets:?}");
    }
}
