//! Hints for wrong command lines, beyond the suggestions of the argument parser.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::config::{Config, variable};

/// Adds a hint to the error if an argument looks like a database without `--database`, or like a setting that has no flag.
pub(super) fn add_hint(mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return error;
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return error };
    let database = database(argument).map(|url| format!("pass the database as '--database {url}'"));
    if let Some(tip) = database.or_else(|| setting(argument)) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns how to set the setting that a flag such as `--limits-page-max` or `--page-max` seems to name.
fn setting(argument: &str) -> Option<String> {
    let flag = argument.strip_prefix("--")?;
    let as_flag = |path: &str| path.replace(['.', '_'], "-");
    let effective = Config::load(Vec::new(), [], None).effective;
    let is_last_part = |path: &&str| path.rsplit('.').next().is_some_and(|name| as_flag(name) == flag);
    // Several sections have settings such as `path`; a hint to one of them would be a guess.
    let mut named = effective.paths().filter(is_last_part);
    let path = match effective.paths().find(|path| as_flag(path) == flag) {
        Some(path) => path,
        None => named.next().filter(|_| named.next().is_none())?,
    };
    Some(format!("set '{path}' in the file of '--config', or the variable {}", variable(path)))
}

/// Returns the URL of the database that an argument seems to name.
fn database(argument: &str) -> Option<String> {
    let is_server = ["postgres", "mysql", "mariadb"].iter().any(|name| argument.starts_with(name));
    if argument.starts_with("sqlite:") || is_server && argument.contains("://") {
        return Some(argument.to_owned());
    }
    let (_, ending) = argument.rsplit_once('.')?;
    let is_database = ["db", "db3", "sqlite", "sqlite3"].contains(&ending.to_ascii_lowercase().as_str());
    (is_database && !argument.starts_with('-')).then(|| format!("sqlite:{argument}"))
}
