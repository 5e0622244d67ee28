//! Hints for wrong command lines, beyond the suggestions of the argument parser.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Adds a hint to the error if an argument looks like a database without `--database`.
pub(super) fn add_hint(mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return error;
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return error };
    if let Some(url) = database(argument) {
        let tip = format!("pass the database as '--database {url}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
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
