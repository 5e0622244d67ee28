//! The database URLs that settings accept.

use std::path::PathBuf;

use crate::config::split_scheme;

/// A parsed database URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseUrl {
    /// `sqlite:FILE`, or `sqlite:FILE?mmap=false` for a file that is not mapped into memory.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Whether the file is mapped into memory.
        memory_map: bool,
    },
    /// `postgres://USER@HOST/DATABASE`, with or without password and parameters.
    Postgres(String),
    /// `mysql://USER@HOST/DATABASE` or `mariadb://USER@HOST/DATABASE`, with or without password and parameters.
    MySql(String),
}

impl DatabaseUrl {
    /// Parses a URL. A text without a scheme is the path of a SQLite file.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = split_scheme(text);
        match scheme.unwrap_or("sqlite") {
            "sqlite" => match rest.strip_prefix("//").unwrap_or(rest) {
                "" => Err("`sqlite:` needs the path of a file, as in `sqlite:blog.db`".to_owned()),
                ":memory:" => Err("a database in memory would be empty: name a file".to_owned()),
                path => {
                    let unmapped = path.strip_suffix("?mmap=false");
                    Ok(Self::Sqlite { path: unmapped.unwrap_or(path).into(), memory_map: unmapped.is_none() })
                }
            },
            "postgres" | "postgresql" if rest.starts_with("//") => Ok(Self::Postgres(text.to_owned())),
            "postgres" | "postgresql" => {
                Err("write a PostgreSQL database as `postgres://user@host/database`".to_owned())
            }
            "mysql" | "mariadb" if rest.starts_with("//") => Ok(Self::MySql(text.to_owned())),
            "mysql" | "mariadb" => Err("write a MariaDB database as `mysql://user@host/database`".to_owned()),
            other => Err(format!(
                "databases of kind '{other}' are not supported: use `sqlite:` and the path of a file, \
                 `postgres://user@host/database` or `mysql://user@host/database`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_by_scheme() {
        let file = |path: &str| Ok(DatabaseUrl::Sqlite { path: path.into(), memory_map: true });
        let unmapped = DatabaseUrl::Sqlite { path: "blog.db".into(), memory_map: false };
        assert_eq!(DatabaseUrl::parse("sqlite:blog.db?mmap=false"), Ok(unmapped));
        assert_eq!(DatabaseUrl::parse("sqlite:blog.db"), file("blog.db"));
        assert_eq!(DatabaseUrl::parse("sqlite:///var/blog.db"), file("/var/blog.db"));
        assert_eq!(DatabaseUrl::parse("blog.db"), file("blog.db"));
        assert_eq!(DatabaseUrl::parse("./a:b.db"), file("./a:b.db"));
        let url = "postgres://ada:secret@db.example/blog?sslmode=require";
        assert_eq!(DatabaseUrl::parse(url), Ok(DatabaseUrl::Postgres(url.to_owned())));
        for url in ["mysql://ada:secret@db.example/blog", "mariadb://ada@db/blog?ssl-mode=required"] {
            assert_eq!(DatabaseUrl::parse(url), Ok(DatabaseUrl::MySql(url.to_owned())));
        }
        for text in ["sqlite:", "sqlite::memory:", "oracle://x", "postgres:x", "mysql:x"] {
            assert!(DatabaseUrl::parse(text).is_err(), "{text}");
        }
    }
}
