//! HTTP requests of commands, each over a new connection, with TLS for `https` URLs.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::cli::failure::{Failure, WithContext as _};

/// An error while reading the body of a request.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Sends requests to one server.
pub(crate) struct HttpClient(Client<HttpsConnector<HttpConnector>, UnsyncBoxBody<Bytes, BoxError>>);

impl HttpClient {
    /// Creates a client. With TLS, it trusts the certificates in the file `authority`, or without one the certificates of the
    /// system.
    pub(crate) fn new(with_tls: bool, authority: Option<&Path>) -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = authority {
            add_certificates(&mut roots, path)
                .context(format_args!("--ca: cannot read certificates from {}", path.display()))?;
        } else if with_tls {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
        Ok(Self(Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)))
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn send<B>(&self, request: Request<B>) -> Result<Response<Bytes>, Failure>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let uri = request.uri().clone();
        let (head, body) = self.open(request).await?.into_parts();
        let body = body.collect().await;
        let body = body
            .map_err(|error| Failure::check_failed(format!("the reply of {uri} is incomplete: {error}")))?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }

    /// Sends a request and returns its reply without reading the body.
    pub(crate) async fn open<B>(&self, request: Request<B>) -> Result<Response<Incoming>, Failure>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let uri = request.uri().clone();
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        self.0.request(request).await.map_err(|error| {
            Failure::check_failed(format!("cannot send a request to {uri}: {}", explain(&error)))
        })
    }
}

/// Adds the certificates of a PEM file, which must contain at least one.
fn add_certificates(roots: &mut RootCertStore, file: &Path) -> Result<(), Box<dyn Error>> {
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
    }
    if roots.is_empty() { Err("the file has none".into()) } else { Ok(()) }
}

/// Returns the first cause of an error, with a hint for a probable mistake.
fn explain(error: &(dyn Error + 'static)) -> String {
    for cause in causes(error) {
        if let Some(rustls::Error::InvalidMessage(_)) = cause.downcast_ref() {
            return "the server does not speak TLS; does its URL begin with http://?".to_owned();
        }
        if cause.downcast_ref().is_some_and(hyper::Error::is_parse) {
            return "the server does not speak plain HTTP; does its URL begin with https://?".to_owned();
        }
        if cause.downcast_ref().is_some_and(|error: &io::Error| error.kind() == ErrorKind::ConnectionRefused)
        {
            return format!("{cause}; is the server running there?");
        }
    }
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// Returns an error and its causes. The source of an I/O error is that of the error within it, which would be left out.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let next = |error: &'e (dyn Error + 'static)| match error.downcast_ref().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner as &(dyn Error + 'static)),
        None => error.source(),
    };
    std::iter::successors(Some(error), move |error| next(*error))
}
