//! Database URLs with their parameters.

use std::sync::Arc;

use mesh_plan::backend::Repeats;
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{BoxError, with_causes, without_password};
use crate::pool::hosts::Hosts;
use crate::pool::role::SessionAttrs;
use crate::pool::tls::{self, Trust};
use crate::sql::{SYSTEM_SCHEMA, identifier};

/// A parsed database URL.
#[derive(Clone)]
pub(crate) struct ConnectUrl {
    /// A configuration for each host.
    pub(super) configs: Vec<Config>,
    pub(crate) hosts: Arc<Hosts>,
    /// The statement that runs on a connection after its host was checked.
    pub(super) after_check: String,
    pub(super) tls: MakeRustlsConnect,
    /// The URL without its password.
    pub(super) name: String,
    /// The schemas that follow the schema of built-in objects in the search path; `None` for the default of the
    /// database.
    pub(crate) schemas: Option<Vec<String>>,
    /// The statements that came before on a connection to this URL.
    pub(super) repeats: Arc<Repeats>,
}

impl ConnectUrl {
    /// Parses a URL and reads the certificates that it names. In addition to the parameters of the driver, `sslmode` can
    /// be `verify-ca` or `verify-full`, both of which verify the host name, `sslrootcert` is a file of certificates
    /// or `system`, and `target_session_attrs` has all values of libpq.
    ///
    /// # Errors
    /// The URL or one of its parameters is invalid, or the certificates cannot be read. The error contains no password.
    pub(crate) fn parse(url: &str) -> Result<Self, BoxError> {
        let name = without_password(url);
        let invalid = |error: String| format!("'{name}' is not a valid database URL: {error}");
        let Params { config, trust, attrs } = parse_params(url).map_err(invalid)?;
        let configs = each_host(&config).map_err(invalid)?;
        let hosts = Arc::new(Hosts::new(configs.iter().map(host_name).collect(), attrs));
        let (after_check, repeats) = Default::default();
        let tls = tls::connector(&trust)?;
        Ok(Self { configs, hosts, after_check, tls, name, schemas: None, repeats })
    }

    /// Returns a URL for each host, and requires the host to be in the state that `attrs` specifies.
    pub(crate) fn split(&self, attrs: SessionAttrs) -> Vec<Self> {
        let of_host = |config: &Config| {
            let host = host_name(config);
            let name =
                if self.configs.len() > 1 { format!("{} at {host}", self.name) } else { self.name.clone() };
            let hosts = Arc::new(Hosts::new(vec![host], attrs));
            Self { configs: vec![config.clone()], hosts, name, ..self.clone() }
        };
        self.configs.iter().map(of_host).collect()
    }

    /// Returns the search path as SQL; `None` for the default of the database. Built-in objects come first, so that
    /// nothing shadows them, and temporary objects come last, so that they shadow nothing.
    pub(super) fn search_path(&self) -> Option<String> {
        let schemas = self.schemas.as_ref()?.iter().map(|schema| identifier(schema));
        let system = [SYSTEM_SCHEMA.to_owned()].into_iter();
        Some(system.chain(schemas).chain(["pg_temp".to_owned()]).collect::<Vec<_>>().join(","))
    }

    /// Adds parameters of sessions to the options of the URL.
    pub(super) fn add_options(&mut self, parameters: &[(&str, String)]) {
        let options = self.configs.first().and_then(Config::get_options);
        let mut options = options.unwrap_or_default().to_owned();
        for (name, value) in parameters {
            options.extend([" -c ", name, "="]);
            for char in value.chars() {
                if char == '\\' || char.is_whitespace() {
                    options.push('\\');
                }
                options.push(char);
            }
        }
        for config in &mut self.configs {
            config.options(&options);
        }
    }
}

/// The parameters of a URL.
struct Params {
    config: Config,
    trust: Trust,
    attrs: SessionAttrs,
}

/// Separates the parameters of the driver from the other parameters of a URL.
fn parse_params(url: &str) -> Result<Params, String> {
    let (mut trust, mut attrs) = (Trust::default(), SessionAttrs::Any);
    let mut verify = false;
    let mut driver_params: Vec<String> = Vec::new();
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", "verify-ca" | "verify-full")) => verify = true,
            Some(("sslrootcert", "system")) => trust = Trust::System,
            Some(("sslrootcert", file)) => {
                trust = Trust::File(percent_decode_str(file).decode_utf8_lossy().into_owned().into());
            }
            Some(("target_session_attrs", value)) => attrs = SessionAttrs::parse(value)?,
            // The driver reads only one host per parameter.
            Some(("host", hosts)) => {
                driver_params.extend(hosts.split(',').map(|host| format!("host={host}")))
            }
            _ => driver_params.push(pair.to_owned()),
        }
    }
    let driver_url = format!("{base}?{}", driver_params.join("&"));
    let config = driver_url.trim_end_matches('?').parse();
    let mut config: Config = config.map_err(|error: tokio_postgres::Error| with_causes(&error))?;
    if verify {
        config.ssl_mode(SslMode::Require);
        if trust == Trust::Any {
            trust = Trust::System;
        }
    }
    if config.get_application_name().is_none() {
        config.application_name("mesh-server");
    }
    Ok(Params { config, trust, attrs })
}

/// Splits a configuration into one for each host.
fn each_host(config: &Config) -> Result<Vec<Config>, String> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = hosts.len().max(addresses.len());
    if count <= 1 {
        return Ok(vec![config.clone()]);
    }
    let fits = |length: usize| [0, count].contains(&length);
    if !fits(hosts.len()) || !fits(addresses.len()) || !(fits(ports.len()) || ports.len() == 1) {
        return Err(format!("there are {count} hosts, but another number of ports or addresses"));
    }
    let of_host = |index: usize| {
        let mut one = without_hosts(config);
        match hosts.get(index) {
            Some(Host::Tcp(name)) => drop(one.host(name)),
            #[cfg(unix)]
            Some(Host::Unix(path)) => drop(one.host_path(path)),
            None => {}
        }
        if let Some(address) = addresses.get(index) {
            one.hostaddr(*address);
        }
        if let Some(port) = ports.get(index).or_else(|| ports.first()) {
            one.port(*port);
        }
        one
    };
    Ok((0..count).map(of_host).collect())
}

/// Copies a configuration without its hosts, because the driver cannot remove hosts.
fn without_hosts(config: &Config) -> Config {
    let mut copy = Config::new();
    copy.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    config.get_user().map(|it| copy.user(it));
    config.get_password().map(|it| copy.password(it));
    config.get_dbname().map(|it| copy.dbname(it));
    config.get_options().map(|it| copy.options(it));
    config.get_application_name().map(|it| copy.application_name(it));
    config.get_connect_timeout().map(|it| copy.connect_timeout(*it));
    config.get_tcp_user_timeout().map(|it| copy.tcp_user_timeout(*it));
    config.get_keepalives_interval().map(|it| copy.keepalives_interval(it));
    config.get_keepalives_retries().map(|it| copy.keepalives_retries(it));
    copy
}

/// Returns the name of the host of a configuration for messages.
fn host_name(config: &Config) -> String {
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match (config.get_hosts().first(), config.get_hostaddrs().first()) {
        (Some(Host::Tcp(name)), _) => format!("{name}:{port}"),
        #[cfg(unix)]
        (Some(Host::Unix(path)), _) => format!("{}:{port}", path.display()),
        (None, Some(address)) => format!("{address}:{port}"),
        (None, None) => String::new(),
    }
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
            assert_eq!((parsed.trust, parsed.config.get_ssl_mode()), (trust, mode), "{url}");
        }
        let error = ConnectUrl::parse("postgres://ada:secret@db/x?sslmode=maybe").err().unwrap().to_string();
        assert!(error.contains("sslmode") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn each_host_has_its_port() {
        for (url, names) in [
            ("postgres://ada:pw@a:1,b:2,c/x?target_session_attrs=read-write", &["a:1", "b:2", "c:5432"][..]),
            ("postgres://ada@/x?host=/run/a,/run/b&port=7", &["/run/a:7", "/run/b:7"]),
            ("postgres://a/x?target_session_attrs=prefer-standby", &["a:5432"]),
        ] {
            let target = ConnectUrl::parse(url).unwrap();
            assert_eq!(target.configs.iter().map(host_name).collect::<Vec<_>>(), names, "{url}");
            let (first, last) = (target.configs.first().unwrap(), target.configs.last().unwrap());
            assert_eq!((first.get_password(), first.get_user()), (last.get_password(), last.get_user()));
            assert_eq!((last.get_dbname(), last.get_application_name()), (Some("x"), Some("mesh-server")));
        }
        for (url, fault) in [
            ("postgres://ada:secret@a,b/x?port=1,2,3", "another number of ports"),
            (
                "postgres://ada:secret@a,b/x?target_session_attrs=readwrite",
                "has to be one of any, read-write,",
            ),
        ] {
            let error = ConnectUrl::parse(url).err().unwrap().to_string();
            assert!(error.contains(fault) && !error.contains("secret"), "{error}");
        }
    }
}
