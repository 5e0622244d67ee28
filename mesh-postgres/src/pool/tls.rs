//! TLS for connections to the database.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::BoxError;

/// The server certificates that are accepted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Trust {
    /// Any: the connection is encrypted, but the server is not authenticated.
    #[default]
    Any,
    /// Certificates issued by the certificate authorities of the system.
    System,
    /// Certificates issued by the certificate authorities in a file.
    File(PathBuf),
}

/// Returns a connector that accepts the certificates of `trust`.
pub(super) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, BoxError> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let config = match roots(trust)? {
        None => builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider))),
        Some(roots) => builder.with_root_certificates(roots),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// Returns the trusted certificates; `None` if the server is not authenticated.
fn roots(trust: &Trust) -> Result<Option<RootCertStore>, BoxError> {
    let mut roots = RootCertStore::empty();
    match trust {
        Trust::Any => return Ok(None),
        Trust::System => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Trust::File(path) => {
            let mut read = || -> Result<(), BoxError> {
                // Opening a pipe would block until another program writes to it.
                if !std::fs::metadata(path)?.is_file() {
                    return Err("it is not a regular file".into());
                }
                for certificate in CertificateDer::pem_file_iter(path)? {
                    roots.add(certificate?)?;
                }
                Ok(())
            };
            read().map_err(|error| format!("cannot read certificates from {}: {error}", path.display()))?;
        }
    }
    if roots.is_empty() {
        return Err("there are no certificates to trust: name a file with `sslrootcert`".into());
    }
    Ok(Some(roots))
}

/// A verifier that accepts any certificate, as `sslmode` up to `require` specifies.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl AcceptAny {
    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        &self.0.signature_verification_algorithms
    }
}

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, self.algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, self.algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms().supported_schemes()
    }
}
