//! What was probably meant by a wrong command line? What the parser of flags cannot know of itself.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// The error with a hint, where there is one: who names a database as other programs want it is told how it is done
/// here.
pub(super) fn told(mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return error;
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return error };
    if let Some(url) = database(argument) {
        let tip = format!("a database is named by a flag: '--database {url}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The URL of a database that an argument seems to name.
fn database(argument: &str) -> Option<String> {
    if argument.starts_with("sqlite:") || argument.starts_with("postgres") && argument.contains("://") {
        return Some(argument.to_owned());
    }
    let (_, ending) = argument.rsplit_once('.')?;
    let is_one = ["db", "db3", "sqlite", "sqlite3"].contains(&ending.to_ascii_lowercase().as_str());
    (is_one && !argument.starts_with('-')).then(|| format!("sqlite:{argument}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Cli;
    use clap::Parser as _;

    fn said(arguments: &[&str]) -> String {
        told(Cli::try_parse_from([&["mesh-server"], arguments].concat()).unwrap_err()).to_string()
    }

    #[test]
    fn a_database_that_stands_alone() {
        for (argument, url) in [
            ("blog.db", "sqlite:blog.db"),
            ("data/Chinook.SQLite", "sqlite:data/Chinook.SQLite"),
            ("sqlite:x", "sqlite:x"),
            ("postgres://me@host/blog", "postgres://me@host/blog"),
        ] {
            for command in ["serve", "check", "types"] {
                let said = said(&[command, argument]);
                assert!(
                    said.contains(&format!("tip: a database is named by a flag: '--database {url}'")),
                    "{said}"
                );
            }
        }
    }

    #[test]
    fn nothing_else_is_taken_for_one() {
        assert!(!said(&["serve", "blog"]).contains("tip"));
        assert!(!said(&["serve", "schema.json"]).contains("tip"));
        assert!(!said(&["health", "--x.db"]).contains("database"));
        let misspelt = said(&["serve", "--databse", "sqlite:blog.db"]);
        assert!(misspelt.contains("'--database'") && !misspelt.contains("by a flag"), "{misspelt}");
    }
}
