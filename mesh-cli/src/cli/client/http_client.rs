//! HTTP requests of commands, each over a new connection, with TLS for `https` URLs.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Incoming};
use hyper_util::rt::TokioIo;
use mesh_wire::client::Endpoint;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::cli::failure::Failure;

/// An error while reading the body of a request.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Sends requests to one server.
pub(crate) struct HttpClient {
    /// `None` for a server without TLS.
    tls: Option<TlsConnector>,
}

impl HttpClient {
    /// Creates a client for a server without TLS.
    pub(crate) fn without_tls() -> Self {
        Self { tls: None }
    }

    /// Creates a client that trusts the certificates in the file `authority`, or without one the certificates of the system.
    pub(crate) fn new(server: &Endpoint, authority: Option<&Path>) -> Result<Self, Failure> {
        if authority.is_none() && server.uri().scheme_str() != Some("https") {
            return Ok(Self::without_tls());
        }
        let mut roots = RootCertStore::empty();
        if let Some(path) = authority {
            let added = add_certificates(&mut roots, path);
            added.map_err(|error| {
                Failure::usage_error(format!(
                    "--ca: cannot read certificates from {}: {error}",
                    path.display()
                ))
            })?;
        } else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: Some(TlsConnector::from(Arc::new(config))) })
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
        let failed =
            |error: &dyn Display| Failure::check_failed(format!("cannot send a request to {uri}: {error}"));
        let tls = self.tls.as_ref().filter(|_| uri.scheme_str() == Some("https"));
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or_else(|| if tls.is_some() { 443 } else { 80 });
        let stream = TcpStream::connect((host.as_str(), port)).await.map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => failed(&format_args!("{error}; is the server running there?")),
            _ => failed(&error),
        })?;
        let Some(tls) = tls else {
            return send_over(stream, request).await.map_err(|error| {
                match error.downcast_ref::<hyper::Error>() {
                    Some(cause) if cause.is_parse() => {
                        failed(&"the server does not speak plain HTTP; does its URL begin with https://?")
                    }
                    _ => failed(&error),
                }
            });
        };
        let name = ServerName::try_from(host).map_err(|error| failed(&error))?;
        let stream = tls.connect(name, stream).await.map_err(|error| match tls_fault(&error) {
            Some(rustls::Error::InvalidMessage(_)) => {
                failed(&"the server does not speak TLS; does its URL begin with http://?")
            }
            _ => failed(&error),
        })?;
        send_over(stream, request).await.map_err(|error| failed(&error))
    }
}

/// Adds the certificates of a PEM file, which must contain at least one.
fn add_certificates(roots: &mut RootCertStore, file: &Path) -> Result<(), Box<dyn Error>> {
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
    }
    if roots.is_empty() { Err("the file has none".into()) } else { Ok(()) }
}

/// Returns the TLS error behind an I/O error.
fn tls_fault(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|cause| cause.downcast_ref())
}

async fn send_over<S, B>(stream: S, request: Request<B>) -> Result<Response<Incoming>, Box<dyn Error>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let (mut head, body) = request.into_parts();
    let authority = head.uri.authority().map(|it| it.as_str()).unwrap_or_default();
    head.headers.insert(header::HOST, HeaderValue::from_str(authority)?);
    let path = head.uri.path_and_query().map(|it| it.as_str()).unwrap_or_default();
    head.uri = path.parse()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The task ends when the reply has been read or is dropped.
    tokio::spawn(connection);
    Ok(sender.send_request(Request::from_parts(head, body.boxed_unsync())).await?)
}
