//! `cargo xtask conformance`: runs the conformance cases against a server and prints a report.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mesh_tests::kit::case::{self, Level};
use mesh_tests::kit::profile::Profile;
use mesh_tests::kit::reference;
use mesh_tests::kit::report::{self, Format};
use mesh_tests::kit::run::{self, Report, Selection};
use mesh_tests::kit::target::Target;

use crate::arguments::split;
use crate::steps;

/// Command-line options.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    level: Option<Level>,
    profiles: Vec<String>,
    ids: Vec<String>,
    target: Option<String>,
    profile_file: Option<PathBuf>,
    format: Option<Format>,
    report: Option<PathBuf>,
    /// A server binary that is already built.
    program: Option<PathBuf>,
}

/// Parses the arguments after the name of the command.
pub(crate) fn parse_options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = split(arguments);
    while let Some(name) = rest.next() {
        if !NAMES.contains(&name) {
            return Err(format!("'conformance' does not take '{name}', but {}", NAMES.join(", ")));
        }
        let value = rest.next().ok_or_else(|| format!("'{name}' needs a value"))?;
        match name {
            "--level" => {
                let level = Level::parse(value);
                options.level =
                    Some(level.ok_or_else(|| format!("there is no level '{value}': L1, L2, L3, L4"))?);
            }
            "--profile" => options.profiles.push(value.to_owned()),
            "--case" => options.ids.push(value.to_owned()),
            "--target" => options.target = Some(value.to_owned()),
            "--profile-file" => options.profile_file = Some(value.into()),
            "--program" => options.program = Some(value.into()),
            "--report" => options.report = Some(value.into()),
            _ => {
                let names: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
                let format = Format::parse(value);
                options.format = Some(
                    format.ok_or_else(|| format!("there is no format '{value}': {}", names.join(", ")))?,
                );
            }
        }
    }
    Ok(options)
}

const NAMES: [&str; 8] =
    ["--level", "--profile", "--case", "--target", "--profile-file", "--program", "--format", "--report"];

/// Runs the cases and prints the report.
pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    match judge(root, options) {
        Ok(report) if report.verdicts.is_empty() => {
            eprintln!("error: no case matches the options");
            ExitCode::from(2)
        }
        Ok(report) if report.is_good() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn judge(root: &Path, options: &Options) -> Result<Report, String> {
    let cases = case::load(&case::folder())?;
    let mut profile = match &options.profile_file {
        Some(file) => Profile::read(file)?,
        None => Profile::reference()?,
    };
    let selection = Selection {
        level: options.level,
        profiles: options.profiles.clone(),
        ids: options.ids.clone(),
        ..Selection::default()
    };
    let report = if let Some(url) = &options.target {
        if options.profile_file.is_none() {
            assume_unknown_server(&mut profile, url, options);
        }
        profile.servers.insert("open".to_owned(), url.clone());
        run::run(&cases, &Target::new(profile)?, &selection)
    } else if profile.servers.is_empty() {
        let program = options.program.clone().map_or_else(|| steps::build_server(root), Ok)?;
        let reference = reference::start(&program, profile)?;
        run::run(&cases, &reference.target, &selection)
    } else {
        run::run(&cases, &Target::new(profile)?, &selection)
    };
    let text = report::render(&report, options.format.unwrap_or(Format::Pretty));
    // A closed pipe, as with `| head`, is not an error.
    let _ = io::stdout().write_all(text.as_bytes());
    if let Some(file) = &options.report {
        let written = std::fs::write(file, report::html(&report));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(report)
}

/// Turns our profile into that of an unknown server: `--level` alone selects the cases of that level, and the cases of
/// optional profiles run only if they are named.
fn assume_unknown_server(profile: &mut Profile, url: &str, options: &Options) {
    url.clone_into(&mut profile.name);
    profile.known.clear();
    if options.level.is_some() {
        profile.profiles.retain(|name| options.profiles.contains(name));
    }
}

/// Runs all cases against the server that has been built already.
pub(crate) fn run_built(root: &Path) -> ExitCode {
    run(root, &Options { program: steps::server().ok(), ..Options::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_alone_selects_no_profiles() {
        let read = |arguments: &[&str]| {
            let mut profile = Profile::reference().unwrap();
            assume_unknown_server(&mut profile, "http://127.0.0.1:8080", &parse_options(arguments).unwrap());
            profile.profiles.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(read(&["--level", "L1"]), "");
        assert_eq!(read(&["--level", "L2", "--profile", "docs"]), "docs");
        assert!(read(&[]).contains("cors"));
    }

    #[test]
    fn options_take_both_forms_and_unknown_options_are_refused() {
        let read =
            parse_options(&["--level", "L2", "--profile=docs", "--profile", "cors", "--format=tap"]).unwrap();
        assert_eq!((read.level, read.format), (Some(Level::L2), Some(Format::Tap)));
        assert_eq!(read.profiles, ["docs", "cors"]);
        for wrong in [&["--level", "L9"][..], &["--level"], &["--colour"], &["--format", "pdf"], &["L1"]] {
            assert!(parse_options(wrong).is_err(), "{wrong:?}");
        }
    }
}
