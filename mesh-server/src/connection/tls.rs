//! Whose server is this? A certificate with its key, kept up with their files, and the handshake before HTTP.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// A certificate and its key, as the files of [`Server::tls`](crate::Server::tls) have them.
#[derive(Clone)]
pub struct Tls {
    files: Arc<Files>,
    acceptor: TlsAcceptor,
    look: Duration,
}

impl Tls {
    /// Reads a chain of certificates, the server's own first, and its private key, both as PEM.
    ///
    /// # Errors
    /// A file that cannot be read or has something else in it, or a key of another certificate.
    pub fn open(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, TlsError> {
        let (certificate, key) = (certificate.into(), key.into());
        let current = RwLock::new(Arc::new(read(&certificate, &key)?));
        let files = Arc::new(Files { certificate, key, current });
        let versions = [&version::TLS13, &version::TLS12];
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&versions)
            .map_err(|error| TlsError { path: files.certificate.clone(), why: Why::Unusable(error) })?;
        let resolver: Arc<dyn ResolvesServerCert> = files.clone();
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { files, acceptor: TlsAcceptor::from(Arc::new(config)), look: LOOK })
    }

    /// Sets how often the files are looked at, instead of every two seconds. A pair that is not good is logged,
    /// and the one before stays in use.
    #[must_use]
    pub fn look_every(mut self, interval: Duration) -> Self {
        self.look = interval.max(Duration::from_millis(1));
        self
    }

    /// Takes in new files whenever they have changed; never ends.
    pub(super) async fn keep_up(self) {
        let mut seen = self.files.stamps();
        loop {
            tokio::time::sleep(self.look).await;
            let now = self.files.stamps();
            if now == seen {
                continue;
            }
            // What is written while it is read has another stamp at the next look.
            seen = now;
            match read(&self.files.certificate, &self.files.key) {
                Ok(pair) => {
                    let mut current = self.files.current.write().unwrap_or_else(PoisonError::into_inner);
                    *current = Arc::new(pair);
                    tracing::info!("took in a new certificate from {}", self.files.certificate.display());
                }
                Err(error) => tracing::warn!("the certificate before stays in use: {error}"),
            }
        }
    }

    /// Begins a conversation: in private, or without TLS where the client did not even try.
    pub(super) async fn greet(&self, stream: TcpStream) -> io::Result<Greeted> {
        let mut first = [0];
        stream.peek(&mut first).await?;
        // A method's first letter; no handshake begins with one.
        if first[0].is_ascii_uppercase() {
            return Ok(Greeted::Plain(stream));
        }
        self.acceptor.accept(stream).await.map(|stream| Greeted::Private(Box::new(stream)))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("certificate", &self.files.certificate).finish_non_exhaustive()
    }
}

/// How a client has begun.
pub(super) enum Greeted {
    Private(Box<TlsStream<TcpStream>>),
    Plain(TcpStream),
}

/// The files, and what they held when they were good last.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
}

impl Files {
    fn stamps(&self) -> [Stamp; 2] {
        [Stamp::of(&self.certificate), Stamp::of(&self.key)]
    }
}

impl ResolvesServerCert for Files {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// What tells one state of a file from another. Links are followed, as those of mounted secrets.
#[derive(PartialEq, Eq)]
struct Stamp(Option<(SystemTime, u64)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let about = std::fs::metadata(path).ok();
        Self(about.and_then(|about| Some((about.modified().ok()?, about.len()))))
    }
}

fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let wrong = |path: &Path, why| TlsError { path: path.to_owned(), why };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| wrong(certificate, Why::of(error)))?;
    if chain.is_empty() {
        return Err(wrong(certificate, Why::Nothing("certificate")));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
        pem::Error::NoItemsFound => wrong(key, Why::Nothing("private key")),
        error => wrong(key, Why::of(error)),
    })?;
    CertifiedKey::from_der(chain, private, &default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => wrong(key, Why::Stranger(certificate.to_owned())),
        error => wrong(certificate, Why::Unusable(error)),
    })
}

/// A certificate or its key cannot be used.
#[derive(Debug)]
pub struct TlsError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug)]
enum Why {
    Unreadable(io::Error),
    NoPem(pem::Error),
    Nothing(&'static str),
    Stranger(PathBuf),
    Unusable(rustls::Error),
}

impl Why {
    fn of(error: pem::Error) -> Self {
        match error {
            pem::Error::Io(error) => Self::Unreadable(error),
            error => Self::NoPem(error),
        }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::Unreadable(error) => write!(f, "cannot read {path}: {error}"),
            Why::NoPem(error) => write!(f, "{path} is not PEM text: {error}"),
            Why::Nothing(what) => write!(f, "there is no {what} in {path}"),
            Why::Stranger(certificate) => {
                write!(f, "the key in {path} is not that of the certificate in {}", certificate.display())
            }
            Why::Unusable(error) => write!(f, "cannot use the certificate in {path}: {error}"),
        }
    }
}

impl std::error::Error for TlsError {}
