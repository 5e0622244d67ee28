//! The database URLs that settings accept.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A parsed database URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseUrl {
    /// `sqlite:FILE`.
    Sqlite(PathBuf),
    /// `postgres://USER@HOST/DATABASE`, with or without password and parameters.
    Postgres(String),
}

/// Why a text is not a database URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseUrlError {
    /// `sqlite:` without a path.
    NoFile,
    /// A SQLite database in memory.
    InMemory,
    /// `postgres:` without an authority.
    NoServer,
    /// An unknown scheme.
    Scheme(String),
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    /// Parses a URL. A text without a scheme is the path of a SQLite file.
    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        let (scheme, rest) = match text.split_once(':') {
            // A single letter is a drive, not a scheme.
            Some((scheme, rest))
                if scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
            {
                (scheme, rest)
            }
            _ => ("sqlite", text),
        };
        match scheme {
            "sqlite" => match rest.strip_prefix("//").unwrap_or(rest) {
                "" => Err(DatabaseUrlError::NoFile),
                ":memory:" => Err(DatabaseUrlError::InMemory),
                path => Ok(Self::Sqlite(path.into())),
            },
            "postgres" | "postgresql" if rest.starts_with("//") => Ok(Self::Postgres(text.to_owned())),
            "postgres" | "postgresql" => Err(DatabaseUrlError::NoServer),
            other => Err(DatabaseUrlError::Scheme(other.to_owned())),
        }
    }
}

impl fmt::Display for DatabaseUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("`sqlite:` needs the path of a file, as in `sqlite:blog.db`"),
            Self::InMemory => f.write_str("a database in memory would be empty: name a file"),
            Self::NoServer => f.write_str("write a PostgreSQL database as `postgres://user@host/database`"),
            Self::Scheme(scheme) => write!(
                f,
                "databases of kind '{scheme}' are not supported: use `sqlite:` and the path of a file, or \
                 `postgres://user@host/database`"
            ),
        }
    }
}

impl Error for DatabaseUrlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_by_scheme() {
        let file = |path: &str| Ok(DatabaseUrl::Sqlite(path.into()));
        assert_eq!("sqlite:blog.db".parse(), file("blog.db"));
        assert_eq!("sqlite:///var/blog.db".parse(), file("/var/blog.db"));
        assert_eq!("blog.db".parse(), file("blog.db"));
        assert_eq!("./a:b.db".parse(), file("./a:b.db"));
        let url = "postgres://ada:secret@db.example/blog?sslmode=require";
        assert_eq!(url.parse(), Ok(DatabaseUrl::Postgres(url.to_owned())));
        for text in ["sqlite:", "sqlite::memory:", "mysql://x", "postgres:x"] {
            assert!(text.parse::<DatabaseUrl>().is_err(), "{text}");
        }
    }
}
