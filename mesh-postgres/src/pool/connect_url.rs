//! Database URLs with their parameters.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::error::with_causes;
use crate::sql::identifier;

/// A parsed database URL.
#[derive(Clone, Debug)]
pub(crate) struct ConnectUrl {
    pub(crate) config: Config,
    /// The certificates that are trusted.
    pub(crate) trust: Trust,
    /// The URL without its password.
    pub(crate) name: String,
    /// The schemas of the search path; empty for the default of the database.
    pub(crate) schemas: Vec<String>,
}

/// The server certificates that are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Any: the connection is encrypted, but the server is not authenticated.
    #[default]
    Any,
    /// Those issued by the certificate authorities of the system.
    System,
    /// Those issued by the certificate authorities in a file.
    File(PathBuf),
}

impl ConnectUrl {
    /// Parses a URL. In addition to the parameters of the driver, `sslmode` can be `verify-ca` or `verify-full`, both of
    /// which verify the host name, and `sslrootcert` is a file of certificates or `system`.
    ///
    /// # Errors
    /// The URL or one of its parameters is invalid. The error contains the URL without its password.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let mut trust = Trust::default();
        let mut verify = false;
        let mut driver_params = Vec::new();
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "verify-ca" | "verify-full")) => verify = true,
                Some(("sslrootcert", "system")) => trust = Trust::System,
                Some(("sslrootcert", file)) => {
                    trust = Trust::File(percent_decode_str(file).decode_utf8_lossy().into_owned().into());
                }
                _ => driver_params.push(pair),
            }
        }
        let name = without_password(url);
        let driver_url = format!("{base}?{}", driver_params.join("&"));
        let driver_url = driver_url.trim_end_matches('?');
        let mut config: Config = driver_url.parse().map_err(|error: tokio_postgres::Error| {
            format!("'{name}' is not a valid database URL: {}", with_causes(&error))
        })?;
        if verify {
            config.ssl_mode(SslMode::Require);
            if trust == Trust::Any {
                trust = Trust::System;
            }
        }
        if config.get_application_name().is_none() {
            config.application_name("mesh-server");
        }
        Ok(Self { config, trust, name, schemas: Vec::new() })
    }

    /// Returns the schemas of the search path as SQL; `None` for the default of the database.
    pub(crate) fn search_path(&self) -> Option<String> {
        let names: Vec<_> = self.schemas.iter().map(|schema| identifier(schema)).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// Adds options of sessions and the search path to those of the URL.
    pub(crate) fn add_options(&mut self, options: &str) {
        let mut all: Vec<String> = self.config.get_options().map(str::to_owned).into_iter().collect();
        all.push(options.to_owned());
        if let Some(schemas) = self.search_path() {
            let mut option = String::from("-c search_path=");
            for char in schemas.chars() {
                if char == '\\' || char.is_whitespace() {
                    option.push('\\');
                }
                option.push(char);
            }
            all.push(option);
        }
        self.config.options(all.join(" "));
    }
}

/// Returns a URL for messages: without its password and parameters.
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
    fn verify_modes_require_trusted_certificates() {
        let trust = |url: &str| ConnectUrl::parse(url).map(|it| (it.trust, it.config.get_ssl_mode()));
        assert_eq!(trust("postgres://db/x"), Ok((Trust::Any, SslMode::Prefer)));
        assert_eq!(trust("postgres://db/x?sslmode=verify-full"), Ok((Trust::System, SslMode::Require)));
        assert_eq!(
            trust("postgres://db/x?sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.pem&connect_timeout=3"),
            Ok((Trust::File("/etc/ca.pem".into()), SslMode::Require))
        );
        assert!(trust("postgres://db/x?sslmode=maybe").is_err_and(|error| error.contains("sslmode")));
    }

    #[test]
    fn passwords_are_removed_from_messages() {
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
