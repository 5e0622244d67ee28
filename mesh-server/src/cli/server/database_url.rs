//! The database URLs that settings accept.

use std::path::PathBuf;

/// A database as a setting names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseUrl {
    /// `sqlite:FILE`.
    Sqlite(PathBuf),
    /// `postgres://USER@HOST/DATABASE`, with a password and parameters where they are needed.
    Postgres(String),
}

impl DatabaseUrl {
    /// Reads a URL; a text without a scheme is taken for a SQLite file.
    ///
    /// # Errors
    /// A scheme that is not served, or no file name; the text says what is.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = match text.split_once(':') {
            // A single letter is a drive, not a scheme.
            Some((scheme, rest))
                if scheme.len() > 1 && scheme.bytes().all(|it| it.is_ascii_alphanumeric()) =>
            {
                (scheme, rest)
            }
            _ => ("sqlite", text),
        };
        match scheme {
            "sqlite" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                if path.is_empty() {
                    return Err("`sqlite:` needs the path of a file, as in `sqlite:blog.db`".to_owned());
                }
                if path == ":memory:" {
                    return Err(
                        "a database in memory is empty when the server opens it: name a file".to_owned()
                    );
                }
                Ok(Self::Sqlite(path.into()))
            }
            "postgres" | "postgresql" if rest.starts_with("//") => Ok(Self::Postgres(text.to_owned())),
            "postgres" | "postgresql" => {
                Err("a PostgreSQL database is named as in `postgres://user@host/database`".to_owned())
            }
            other => Err(format!(
                "databases of kind '{other}' are not served: use `sqlite:` and the path of a file, or \
                 `postgres://user@host/database`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let file = |path: &str| Ok(DatabaseUrl::Sqlite(path.into()));
        assert_eq!(DatabaseUrl::parse("sqlite:blog.db"), file("blog.db"));
        assert_eq!(DatabaseUrl::parse("sqlite:///var/blog.db"), file("/var/blog.db"));
        assert_eq!(DatabaseUrl::parse("blog.db"), file("blog.db"));
        assert_eq!(DatabaseUrl::parse("./a:b.db"), file("./a:b.db"));
        let url = "postgres://ada:secret@db.example/blog?sslmode=require";
        assert_eq!(DatabaseUrl::parse(url), Ok(DatabaseUrl::Postgres(url.to_owned())));
        for text in ["sqlite:", "sqlite::memory:", "mysql://x", "postgres:x"] {
            assert!(DatabaseUrl::parse(text).is_err(), "{text}");
        }
    }
}
