//! The options of the program, and a run with them.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::case::{self, Case, Level};
use crate::http::{self, Network, Request, Timeouts};
use crate::profile::Profile;
use crate::report::{self, Format};
use crate::run::{self, Report, Selection};
use crate::target::Target;

/// The exit status of a run that could not begin, or whose target is unreachable.
const DEAD: u8 = 2;

/// The options of a run.
#[derive(Debug, Default, Args)]
pub struct Options {
    /// Test the server at this URL, which includes the base path
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Read claims, choices and servers from this file
    #[arg(long, value_name = "FILE")]
    pub profile_file: Option<PathBuf>,
    /// Run the cases up to this level: L1, L2, L3 or L4; those of optional profiles only with --profile or --profile-file
    #[arg(long, value_parser = level)]
    pub level: Option<Level>,
    /// Run only the cases of this optional profile; can be given several times
    #[arg(long = "profile", value_name = "NAME")]
    pub profiles: Vec<String>,
    /// Run only the cases whose ids contain this text; can be given several times
    #[arg(long = "case", value_name = "TEXT")]
    pub ids: Vec<String>,
    /// Leave out the cases that have to wait, such as for the expiry of a token
    #[arg(long)]
    pub quick: bool,
    /// Run one case after the other
    #[arg(long)]
    pub serial: bool,
    /// End at the first failure, in the order of the specification
    #[arg(long)]
    pub fail_fast: bool,
    /// How long to wait for each part of a response, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// How long to wait for a connection, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub connect_timeout: Option<Duration>,
    /// How long to wait for an event of a stream, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub event_timeout: Option<Duration>,
    /// Trust https servers with certificates of this PEM file instead of those of the system
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Print the report as pretty, tap, junit or json
    #[arg(long, default_value = "pretty", value_parser = format)]
    pub format: Option<Format>,
    /// Also write the report as an HTML page
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

fn level(text: &str) -> Result<Level, String> {
    Level::parse(text).ok_or_else(|| "the levels are L1, L2, L3 and L4".to_owned())
}

fn format(text: &str) -> Result<Format, String> {
    Format::parse(text).ok_or_else(|| "the formats are pretty, tap, junit and json".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("the time must be more than zero".to_owned()) } else { Ok(time) }
}

impl Options {
    /// Returns which cases are run, and how.
    #[must_use]
    pub fn selection(&self) -> Selection {
        Selection {
            level: self.level,
            profiles: self.profiles.clone(),
            ids: self.ids.clone(),
            quick: self.quick,
            serial: self.serial,
            fail_fast: self.fail_fast,
            ..Selection::default()
        }
    }

    fn network(&self) -> Network {
        let default = Timeouts::default();
        let timeouts = Timeouts {
            connect: self.connect_timeout.unwrap_or(default.connect),
            response: self.timeout.unwrap_or(default.response),
            event: self.event_timeout.unwrap_or(default.event),
        };
        Network { timeouts, ca_file: self.ca_file.clone() }
    }

    /// Returns the profile of the target.
    ///
    /// # Errors
    /// Returns a message if the file cannot be read or is invalid.
    pub fn profile(&self) -> Result<Profile, String> {
        let mut profile = match &self.profile_file {
            Some(file) => Profile::read(file)?,
            None => Profile::reference()?,
        };
        if let Some(url) = &self.target {
            if self.profile_file.is_none() {
                // The profile of the reference server becomes that of an unknown one: `--level` alone selects the cases
                // of the level, and those of optional profiles run only if they are named.
                url.clone_into(&mut profile.name);
                profile.known.clear();
                if self.level.is_some() {
                    profile.profiles.retain(|name| self.profiles.contains(name));
                }
            }
            profile.servers.insert("open".to_owned(), url.clone());
        }
        Ok(profile)
    }
}

/// Runs the cases and prints the report. `own` runs them if the options name no server.
pub fn run(
    options: &Options,
    own: impl FnOnce(Profile, &[Case], &Selection) -> Result<Report, String>,
) -> ExitCode {
    match judge(options, own).and_then(|report| print(options, &report).map(|()| report)) {
        Ok(report) if report.verdicts.is_empty() => failed("no case matches the options"),
        Ok(Report { unreachable: Some(why), .. }) => failed(&format!("no server can be tested: {why}")),
        Ok(report) if report.is_good() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => failed(&why),
    }
}

/// Prints an error and returns the status of a run that could not begin.
pub fn failed(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(DEAD)
}

fn judge(
    options: &Options,
    own: impl FnOnce(Profile, &[Case], &Selection) -> Result<Report, String>,
) -> Result<Report, String> {
    let cases = case::embedded()?;
    let (profile, selection) = (options.profile()?, options.selection());
    if profile.servers.is_empty() {
        return own(profile, &cases, &selection);
    }
    let mut target = Target::with_network(profile, &options.network())?;
    if options.profile_file.is_none() && options.level.is_none() && options.profiles.is_empty() {
        // The higher levels need servers with a login.
        target.profile.level = Level::L2;
        target.profile.profiles = introspected(&target).unwrap_or_default();
    }
    Ok(run::run(&cases, &target, &selection))
}

/// Returns the profiles that the introspection of a server names (§13.1), if it has one.
fn introspected(target: &Target) -> Option<Vec<String>> {
    let url = target.base_url("open").ok()?;
    let path = format!("{}/schema", target.profile.choice_text("docs_path").ok()?);
    let response = http::send(&url.authority, &Request::new("GET", &path)).ok()?;
    let body: Value = serde_json::from_slice(&response.body).ok()?;
    serde_json::from_value(body.get("profiles")?.clone()).ok()
}

fn print(options: &Options, report: &Report) -> Result<(), String> {
    // A target that was never reached has no results worth a page. A target that stopped during the run has.
    if report.unreachable.is_some() && report.count(run::Grade::Pass) == 0 {
        return Ok(());
    }
    let text = report::render(report, options.format.unwrap_or(Format::Pretty));
    // A closed pipe, as with `| head`, is not an error.
    let _ = io::stdout().write_all(text.as_bytes());
    let Some(file) = &options.report else { return Ok(()) };
    let written = fs::write(file, report::html(report));
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))
}
