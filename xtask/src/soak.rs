//! `cargo xtask soak`: long runs in release mode of mixed traffic against a server, and of random queries compared
//! with a simple in-memory resolver.

use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{positive, split};
use crate::steps::Steps;

const SECONDS: u64 = 60;

/// Command-line options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    seconds: u64,
    /// `None` runs both parts.
    only: Option<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Traffic,
    Differential,
}

pub(crate) fn parse_options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { seconds: SECONDS, only: None };
    let mut rest = split(arguments);
    while let Some(name) = rest.next() {
        match name {
            "--seconds" => options.seconds = positive(name, rest.next())?,
            "--minutes" => options.seconds = positive::<u64>(name, rest.next())?.saturating_mul(60),
            "traffic" => options.only = Some(Part::Traffic),
            "differential" => options.only = Some(Part::Differential),
            _ => return Err("'soak' takes `[traffic|differential] [--minutes N | --seconds N]`".to_owned()),
        }
    }
    Ok(options)
}

pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    let seconds = options.seconds.to_string();
    let steps = || Steps::new(root.to_path_buf());
    if options.only != Some(Part::Differential) {
        eprintln!("soak, mixed traffic: {seconds} seconds");
        let built = steps().cargo("build mesh-server", "build --release --quiet -p mesh-server");
        if built.failed() {
            return built.finish();
        }
        let command = "test --release -p mesh-tests --test it soak:: -- --nocapture";
        let outcome = steps().show(command, &[("MESH_SOAK_SECONDS", &seconds)]);
        if outcome != ExitCode::SUCCESS || options.only == Some(Part::Traffic) {
            return outcome;
        }
    }
    eprintln!("soak, differential: {seconds} seconds");
    let command = "test --release -p mesh-server --test it differential:: -- --nocapture";
    steps().show(command, &[("MESH_DIFF_SECONDS", &seconds)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_both_forms_and_units() {
        let both = |seconds| Ok(Options { seconds, only: None });
        assert_eq!(parse_options(&[]), both(60));
        assert_eq!(parse_options(&["--seconds", "5"]), both(5));
        assert_eq!(parse_options(&["--minutes=7"]), both(420));
        let traffic = Options { seconds: 60, only: Some(Part::Traffic) };
        assert_eq!(parse_options(&["traffic", "--minutes", "1"]), Ok(traffic));
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["--minutes=-1"], &["5"], &["traffics"]] {
            assert!(parse_options(wrong).is_err(), "{wrong:?}");
        }
    }
}
