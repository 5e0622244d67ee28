//! TLS: the certificate and its key, reloaded when their files change, and the handshake.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::regular_file;

/// The certificate files are not checked more often than this.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// A certificate chain and its private key, loaded from files, for [`Server::tls`](crate::Server::tls).
#[derive(Clone)]
pub struct Tls {
    certificate: Arc<ReloadedCertificate>,
    acceptor: TlsAcceptor,
    /// How often the files are checked for changes, every two seconds by default. If a changed pair is invalid, the error is
    /// logged and the previous certificate remains in use.
    pub check_interval: Duration,
}

impl Tls {
    /// Loads a certificate chain, the server's certificate first, and its private key, both in PEM format.
    ///
    /// # Errors
    /// A file cannot be read or contains no certificate or key, or the key belongs to another certificate.
    pub fn open(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, TlsError> {
        let (certificate_path, key_path) = (certificate.into(), key.into());
        let current = RwLock::new(Arc::new(load(&certificate_path, &key_path)?));
        let certificate = Arc::new(ReloadedCertificate { certificate_path, key_path, current });
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|error| TlsError::unusable(&certificate.certificate_path, &error))?;
        let resolver: Arc<dyn ResolvesServerCert> = certificate.clone();
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            certificate,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            check_interval: Duration::from_secs(2),
        })
    }

    /// Reloads the certificate whenever its files change; never completes.
    pub(super) async fn reload_on_change(&self) {
        let mut known = self.certificate.stamps();
        loop {
            tokio::time::sleep(self.check_interval.max(MIN_CHECK_INTERVAL)).await;
            let stamps = self.certificate.stamps();
            if stamps == known {
                continue;
            }
            // Taken before the files are read, so that a change during the read is noticed by the next check.
            known = stamps;
            let ReloadedCertificate { certificate_path, key_path, current } = &*self.certificate;
            match load(certificate_path, key_path) {
                Ok(pair) => {
                    *current.write() = Arc::new(pair);
                    tracing::info!("reloaded the certificate from {}", certificate_path.display());
                }
                Err(error) => tracing::warn!("the previous certificate remains in use: {error}"),
            }
        }
    }

    /// Performs the TLS handshake, unless the client sends plain HTTP.
    pub(super) async fn handshake(&self, stream: TcpStream) -> io::Result<Handshake> {
        let mut first = [0];
        stream.peek(&mut first).await?;
        // HTTP methods start with an uppercase letter; TLS records do not.
        if first[0].is_ascii_uppercase() {
            return Ok(Handshake::PlainHttp(stream));
        }
        self.acceptor.accept(stream).await.map(|stream| Handshake::Tls(Box::new(stream)))
    }
}

opaque_debug!(Tls);

/// The outcome of [`Tls::handshake`].
pub(super) enum Handshake {
    Tls(Box<TlsStream<TcpStream>>),
    PlainHttp(TcpStream),
}

/// The certificate files and the last valid pair that they contained.
#[derive(Debug)]
struct ReloadedCertificate {
    certificate_path: PathBuf,
    key_path: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
}

impl ReloadedCertificate {
    fn stamps(&self) -> [Option<regular_file::Stamp>; 2] {
        [&self.certificate_path, &self.key_path].map(|path| regular_file::stamp(path))
    }
}

impl ResolvesServerCert for ReloadedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read()))
    }
}

fn load(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    for path in [certificate, key] {
        regular_file::check(path).map_err(|error| TlsError::unreadable(path, &pem::Error::Io(error)))?;
    }
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| TlsError::unreadable(certificate, &error))?;
    if chain.is_empty() {
        return Err(TlsError(format!("{} contains no certificate", certificate.display())));
    }
    let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::unreadable(key, &error))?;
    CertifiedKey::from_der(chain, private_key, &default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => TlsError(format!(
            "the key in {} does not belong to the certificate in {}",
            key.display(),
            certificate.display()
        )),
        error => TlsError::unusable(certificate, &error),
    })
}

/// The error of a certificate or key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(String);

impl TlsError {
    fn unreadable(path: &Path, error: &pem::Error) -> Self {
        let path = path.display();
        Self(match error {
            pem::Error::Io(error) => format!("cannot read {path}: {error}"),
            pem::Error::NoItemsFound => format!("{path} contains no private key"),
            error => format!("{path} is not valid PEM: {error}"),
        })
    }

    fn unusable(path: &Path, error: &rustls::Error) -> Self {
        Self(format!("cannot use the certificate in {}: {error}", path.display()))
    }
}
