//! `cargo xtask soak`: long runs in release mode of mixed traffic against a server, of attacks beside honest traffic, of
//! random queries compared with a simple in-memory resolver, and of the laws of values.

use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{positive, split};
use crate::steps::Steps;

/// The duration of a part unless another one is given.
const SECONDS: u64 = 60;
/// The duration of the attacks unless another one is given. A run without attacks takes as long again.
const ATTACK_SECONDS: u64 = 600;

/// Command-line options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The duration of each part; `None` is the default of the part.
    seconds: Option<u64>,
    /// `None` runs all parts.
    only: Option<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Traffic,
    Attacks,
    Differential,
    Laws,
}

impl Part {
    const ALL: [Self; 4] = [Self::Traffic, Self::Attacks, Self::Differential, Self::Laws];

    /// Runs the part for some seconds.
    fn run(self, root: &Path, seconds: Option<u64>) -> ExitCode {
        let default = if self == Self::Attacks { ATTACK_SECONDS } else { SECONDS };
        let seconds = seconds.unwrap_or(default).to_string();
        let steps = Steps::new(root.to_path_buf());
        let (name, filter) = match self {
            Self::Traffic => ("mixed traffic", "soak::mixed_traffic"),
            Self::Attacks => ("attacks beside honest traffic", "soak::attacks"),
            Self::Laws => ("laws of values", "round_trip::"),
            Self::Differential => {
                eprintln!("soak, differential: {seconds} seconds");
                let command = "test --release -p mesh-server --test it differential:: -- --nocapture";
                return steps.show(command, &[("MESH_DIFF_SECONDS", &seconds)]);
            }
        };
        eprintln!("soak, {name}: {seconds} seconds");
        let built = steps.cargo("build mesh-server", "build --release --quiet -p mesh-cli");
        if built.failed() {
            return built.finish();
        }
        let command = format!("test --release -p mesh-tests --test it {filter} -- --nocapture");
        let variables = [
            ("MESH_SOAK_SECONDS", seconds.as_str()),
            ("MESH_SOAK_TIMES", "1"),
            ("MESH_LAWS_SECONDS", &seconds),
        ];
        Steps::new(root.to_path_buf()).show(&command, &variables)
    }
}

pub(crate) fn parse_options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { seconds: None, only: None };
    let mut rest = split(arguments);
    while let Some(name) = rest.next() {
        match name {
            "--seconds" => options.seconds = Some(positive(name, rest.next())?),
            "--minutes" => options.seconds = Some(positive::<u64>(name, rest.next())?.saturating_mul(60)),
            "traffic" => options.only = Some(Part::Traffic),
            "attacks" => options.only = Some(Part::Attacks),
            "differential" => options.only = Some(Part::Differential),
            "laws" => options.only = Some(Part::Laws),
            _ => {
                let message =
                    "'soak' takes `[traffic|attacks|differential|laws] [--minutes N | --seconds N]`";
                return Err(message.to_owned());
            }
        }
    }
    Ok(options)
}

pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    for part in Part::ALL.into_iter().filter(|part| options.only.is_none_or(|only| only == *part)) {
        let outcome = part.run(root, options.seconds);
        if outcome != ExitCode::SUCCESS {
            return outcome;
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_both_forms_and_units() {
        let all = |seconds| Ok(Options { seconds, only: None });
        assert_eq!(parse_options(&[]), all(None));
        assert_eq!(parse_options(&["--seconds", "5"]), all(Some(5)));
        assert_eq!(parse_options(&["--minutes=7"]), all(Some(420)));
        let traffic = Options { seconds: Some(60), only: Some(Part::Traffic) };
        assert_eq!(parse_options(&["traffic", "--minutes", "1"]), Ok(traffic));
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["--minutes=-1"], &["5"], &["traffics"]] {
            assert!(parse_options(wrong).is_err(), "{wrong:?}");
        }
    }
}
