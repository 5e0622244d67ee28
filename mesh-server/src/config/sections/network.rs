//! Addresses, certificates, origins and collectors: `[admin]`, `[tls]`, `[cors]`, `[otlp]`.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::define::settings;
use crate::config::parse;

settings! {
    /// Health checks and metrics: the section `[admin]`.
    Admin["admin."] {
        /// Address for health checks and metrics only; without it they are served at `listen`.
        listen: Option<SocketAddr> = None, parse::optional(parse::address);
    }
    sections {}
}

settings! {
    /// The server's certificate: the section `[tls]`.
    Tls["tls."] {
        /// PEM file with the certificate chain.
        cert: Option<PathBuf> = None, parse::present;
        /// PEM file with the private key.
        key: Option<PathBuf> = None, parse::present;
    }
    sections {}
}

impl Tls {
    /// The certificate and the key, if both are set.
    pub(crate) fn files(&self) -> Option<(&PathBuf, &PathBuf)> {
        self.cert.as_ref().zip(self.key.as_ref())
    }
}

settings! {
    /// Pages of other origins: the section `[cors]`. `SPEC §12.5`
    Cors["cors."] {
        /// Origins that may send requests from a browser; empty: none.
        origins: Vec<String> = Vec::new(), parse::origins;
    }
    sections {}
}

settings! {
    /// Traces: the section `[otlp]`.
    Otlp["otlp."] {
        /// URL of an OpenTelemetry collector that spans are sent to.
        endpoint: Option<String> = None, parse::present;
        /// Name of this server in traces.
        service: String = "mesh-server".to_owned(), parse::filled;
    }
    sections {}
}
