//! Database URLs with their parameters.

use std::path::PathBuf;

use crate::catalog::quoted;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

/// A database as a URL names it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectUrl {
    pub(crate) config: Config,
    /// Whose certificates are trusted.
    pub(crate) trust: Trust,
    /// The URL without its password.
    pub(crate) name: String,
    /// The namespaces in which tables are looked for, where the database's own list does not do.
    pub(crate) path: Vec<String>,
}

/// Which certificates a database may show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Any: the connection is private, but who is at its other end is not proven.
    #[default]
    Anybody,
    /// Those that the system trusts.
    System,
    /// Those that the certificates of a file vouch for.
    File(PathBuf),
}

impl ConnectUrl {
    /// Reads a URL. Beside what the driver knows, `sslmode` can be `verify-ca` or `verify-full`, which are the
    /// same here, and `sslrootcert` names a file of certificates, or `system`.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let mut trust = Trust::default();
        let mut verified = false;
        let mut kept = Vec::new();
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "verify-ca" | "verify-full")) => verified = true,
                Some(("sslrootcert", "system")) => trust = Trust::System,
                Some(("sslrootcert", file)) => trust = Trust::File(unescaped(file).into()),
                _ => kept.push(pair),
            }
        }
        let url_kept = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        let mut config: Config = url_kept.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!(
                "'{}' is no URL of a database: {error}{}",
                without_password(url),
                cause.unwrap_or_default()
            )
        })?;
        if verified {
            config.ssl_mode(SslMode::Require);
            if trust == Trust::Anybody {
                trust = Trust::System;
            }
        }
        if config.get_application_name().is_none() {
            config.application_name("mesh-server");
        }
        Ok(Self { config, trust, name: without_password(url), path: Vec::new() })
    }
}

impl ConnectUrl {
    /// The namespaces to look for tables in, as a statement lists them.
    pub(crate) fn search_path(&self) -> Option<String> {
        let names: Vec<_> = self.path.iter().map(|schema| quoted(schema)).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// Has every session begin with these settings.
    pub(crate) fn with_options(&mut self, options: &str) {
        let path = self.search_path().map(|names| {
            let mut option = String::from(" -c search_path=");
            for char in names.chars() {
                if char == '\\' || char.is_whitespace() {
                    option.push('\\');
                }
                option.push(char);
            }
            option
        });
        let given = self.config.get_options().map(|given| format!("{given} ")).unwrap_or_default();
        self.config.options(format!("{given}{options}{}", path.unwrap_or_default()));
    }
}

/// A value of a URL's query without its percent signs.
fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digits = (byte == b'%').then(|| (digit(ahead.next()), digit(ahead.next())));
        match digits {
            Some((Some(high), Some(low))) => {
                out.push(high * 16 + low);
                bytes = ahead;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn digit(byte: Option<u8>) -> Option<u8> {
    u8::try_from(char::from(byte?).to_digit(16)?).ok()
}

/// A URL as messages show it.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let Some((account, host)) = authority.rsplit_once('@') else {
        return format!("{scheme}://{authority}{path}");
    };
    let user = account.split_once(':').map_or(account, |(user, _)| user);
    format!("{scheme}://{user}@{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_verified_when_asked_for() {
        let trust = |url: &str| ConnectUrl::parse(url).map(|it| (it.trust, it.config.get_ssl_mode()));
        assert_eq!(trust("postgres://db/x"), Ok((Trust::Anybody, SslMode::Prefer)));
        assert_eq!(trust("postgres://db/x?sslmode=verify-full"), Ok((Trust::System, SslMode::Require)));
        assert_eq!(
            trust("postgres://db/x?sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.pem&connect_timeout=3"),
            Ok((Trust::File("/etc/ca.pem".into()), SslMode::Require))
        );
        assert!(trust("postgres://db/x?sslmode=maybe").is_err_and(|fault| fault.contains("sslmode")));
    }

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://ada:secret@db.example/blog?sslmode=require", "postgres://ada@db.example/blog"),
            ("postgres://ada@db/blog", "postgres://ada@db/blog"),
            ("postgres:///blog?host=/run/db&password=secret", "postgres:///blog"),
            ("postgres://db:5433", "postgres://db:5433"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
