//! Addresses of servers, and the settings for connections to them.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// How long a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For each part of a response.
    pub response: Duration,
    /// For an event of a stream. Servers have one second; the rest is for busy machines.
    pub event: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { connect: minute, response: minute, event: Duration::from_secs(10) }
    }
}

/// How the servers of a target are reached.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// How long a run waits.
    pub timeouts: Timeouts,
    /// A PEM file with the certificates that are trusted for `https` servers; by default those of the system.
    pub ca_file: Option<PathBuf>,
}

/// Host and port of a server, and how it is reached. A text with host and port is an endpoint without TLS.
#[derive(Clone)]
pub struct Endpoint {
    authority: String,
    pub(super) timeouts: Timeouts,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl Endpoint {
    /// Returns the host without brackets.
    pub(super) fn host(&self) -> &str {
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        host.trim_matches(['[', ']'])
    }

    /// Returns `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

impl Deref for Endpoint {
    type Target = str;

    fn deref(&self) -> &str {
        &self.authority
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.authority)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme(), self.authority)
    }
}

impl From<&str> for Endpoint {
    fn from(authority: &str) -> Self {
        Self { authority: authority.to_owned(), timeouts: Timeouts::default(), tls: None }
    }
}

impl From<&String> for Endpoint {
    fn from(authority: &String) -> Self {
        authority.as_str().into()
    }
}

impl From<&Self> for Endpoint {
    fn from(endpoint: &Self) -> Self {
        endpoint.clone()
    }
}

/// The URL of a server, split into endpoint and base path.
#[derive(Debug, Clone)]
pub struct BaseUrl {
    /// Host and port.
    pub authority: Endpoint,
    /// The base path without a trailing slash.
    pub base: String,
}

impl BaseUrl {
    /// Parses an `http://` or `https://` URL.
    ///
    /// # Errors
    /// Returns a message if it is neither.
    pub fn parse(url: &str) -> Result<Self, String> {
        Self::with_network(url, &Network::default())
    }

    /// Parses an `http://` or `https://` URL of a server that is reached as given.
    ///
    /// # Errors
    /// Returns a message if it is neither, or the certificates cannot be read.
    pub fn with_network(url: &str, network: &Network) -> Result<Self, String> {
        let (rest, port, tls) = if let Some(rest) = url.strip_prefix("http://") {
            (rest, 80, None)
        } else if let Some(rest) = url.strip_prefix("https://") {
            (rest, 443, Some(tls(network.ca_file.as_deref())?))
        } else {
            return Err(format!("'{url}' is not an http:// or https:// URL"));
        };
        let (authority, base) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:{port}") };
        let authority = Endpoint { authority, timeouts: network.timeouts, tls };
        Ok(Self { authority, base: base.trim_end_matches('/').to_owned() })
    }
}

fn tls(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = ca_file {
        let unreadable =
            |error: &dyn fmt::Display| format!("cannot read certificates from {}: {error}", file.display());
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
            let certificate = certificate.map_err(|error| unreadable(&error))?;
            roots.add(certificate).map_err(|error| unreadable(&error))?;
        }
        if roots.is_empty() {
            return Err(unreadable(&"the file has none"));
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
