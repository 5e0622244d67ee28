//! Database URLs with their parameters.

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::catalog::SYSTEM_SCHEMA;
use crate::error::{BoxError, with_causes};
use crate::pool::tls::{self, Trust};
use crate::sql::identifier;

/// A parsed database URL.
#[derive(Clone)]
pub(crate) struct ConnectUrl {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    /// The URL without its password.
    pub(super) name: String,
    /// The schemas of the search path after that of built-in objects; `None` for the default of the database.
    pub(crate) schemas: Option<Vec<String>>,
}

impl ConnectUrl {
    /// Parses a URL and reads the certificates that it names. In addition to the parameters of the driver, `sslmode` can
    /// be `verify-ca` or `verify-full`, both of which verify the host name, and `sslrootcert` is a file of certificates
    /// or `system`.
    ///
    /// # Errors
    /// The URL or one of its parameters is invalid, or the certificates cannot be read. The error contains no password.
    pub(crate) fn parse(url: &str) -> Result<Self, BoxError> {
        let name = without_password(url);
        let (config, trust) = parse_params(url)
            .map_err(|error| format!("'{name}' is not a valid database URL: {}", with_causes(&error)))?;
        Ok(Self { config, tls: tls::connector(&trust)?, name, schemas: None })
    }

    /// Returns the search path as SQL; `None` for the default of the database. Built-in objects come first, and temporary
    /// ones last, so that no other object has a name of theirs.
    pub(super) fn search_path(&self) -> Option<String> {
        let schemas = self.schemas.as_ref()?.iter().map(|schema| identifier(schema));
        let system = [SYSTEM_SCHEMA.to_owned()].into_iter();
        Some(system.chain(schemas).chain(["pg_temp".to_owned()]).collect::<Vec<_>>().join(","))
    }

    /// Adds parameters of sessions to the options of the URL.
    pub(super) fn add_options(&mut self, parameters: &[(&str, String)]) {
        let mut options = self.config.get_options().unwrap_or_default().to_owned();
        for (name, value) in parameters {
            options.extend([" -c ", name, "="]);
            for char in value.chars() {
                if char == '\\' || char.is_whitespace() {
                    options.push('\\');
                }
                options.push(char);
            }
        }
        self.config.options(options);
    }
}

/// Splits a URL into the parameters of the driver and those of TLS.
fn parse_params(url: &str) -> Result<(Config, Trust), tokio_postgres::Error> {
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
    let driver_url = format!("{base}?{}", driver_params.join("&"));
    let mut config: Config = driver_url.trim_end_matches('?').parse()?;
    if verify {
        config.ssl_mode(SslMode::Require);
        if trust == Trust::Any {
            trust = Trust::System;
        }
    }
    if config.get_application_name().is_none() {
        config.application_name("mesh-server");
    }
    Ok((config, trust))
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
        for (url, trust, mode) in [
            ("postgres://db/x", Trust::Any, SslMode::Prefer),
            ("postgres://db/x?sslmode=verify-full", Trust::System, SslMode::Require),
            (
                "postgres://db/x?sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.pem&connect_timeout=3",
                Trust::File("/etc/ca.pem".into()),
                SslMode::Require,
            ),
        ] {
            let parsed = parse_params(url).unwrap();
            assert_eq!((parsed.1, parsed.0.get_ssl_mode()), (trust, mode), "{url}");
        }
        let error = ConnectUrl::parse("postgres://ada:secret@db/x?sslmode=maybe").err().unwrap().to_string();
        assert!(error.contains("sslmode") && !error.contains("secret"), "{error}");
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
