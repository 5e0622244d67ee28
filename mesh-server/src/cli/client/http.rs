//! How does a command of this program reach a server? By one request over a connection of its own, in private
//! where the URL says `https`.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::body::Body;
use hyper_util::rt::TokioIo;
use mesh_wire::client::{self, Endpoint, ReplyError};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::cli::failure::Failure;

/// The JSON of a reply. Errors of one kind come with a question that only the user can answer: the server does not
/// know what was meant.
pub(crate) fn answer(reply: Response<Bytes>, kind: &str, question: &str) -> Result<Bytes, Failure> {
    client::result(reply).map_err(|error| match &error {
        ReplyError::Refused { body, .. } if body.error == kind => {
            Failure::found(format!("{error}\n{question}"))
        }
        _ => Failure::found(error),
    })
}

/// Sends requests.
pub(crate) struct Caller {
    /// What is needed for `https`, where that is what the server speaks.
    private: Option<TlsConnector>,
}

impl Caller {
    /// For requests to that server. It is trusted if the system trusts its certificate or, where a file is
    /// given, if one of that file vouches for it.
    pub(crate) fn new(server: &Endpoint, authority: Option<&Path>) -> Result<Self, Failure> {
        if authority.is_none() && server.uri().scheme_str() != Some("https") {
            return Ok(Self { private: None });
        }
        let mut roots = RootCertStore::empty();
        if let Some(path) = authority {
            let wrong = |error: &dyn Display| {
                Failure::start(format!("--ca: cannot read certificates from {}: {error}", path.display()))
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
                let certificate = certificate.map_err(|error| wrong(&error))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"there are none in it"));
            }
        } else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Failure::start)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { private: Some(TlsConnector::from(Arc::new(config))) })
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn send<B>(&self, request: Request<B>) -> Result<Response<Bytes>, Failure>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let uri = request.uri().clone();
        let failed = |error: &dyn Display| Failure::found(format!("cannot ask {uri}: {error}"));
        let private = self.private.as_ref().filter(|_| uri.scheme_str() == Some("https"));
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or_else(|| if private.is_some() { 443 } else { 80 });
        let stream = TcpStream::connect((host.as_str(), port)).await.map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => failed(&format_args!("{error}; is the server running there?")),
            _ => failed(&error),
        })?;
        let Some(private) = private else {
            return converse(stream, request).await.map_err(|error| {
                match error.downcast_ref::<hyper::Error>() {
                    Some(cause) if cause.is_parse() => failed(
                        &"what answers there does not speak plain HTTP; does its URL begin with https://?",
                    ),
                    _ => failed(&error),
                }
            });
        };
        let name = ServerName::try_from(host).map_err(|error| failed(&error))?;
        let stream = private.connect(name, stream).await.map_err(|error| match tls_fault(&error) {
            // What came is no TLS at all.
            Some(rustls::Error::InvalidMessage(_)) => {
                failed(&"what answers there does not speak TLS; does its URL begin with http://?")
            }
            _ => failed(&error),
        })?;
        converse(stream, request).await.map_err(|error| failed(&error))
    }
}

/// What TLS found wrong with a connection.
fn tls_fault(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|cause| cause.downcast_ref())
}

async fn converse<S, B>(stream: S, request: Request<B>) -> Result<Response<Bytes>, Box<dyn Error>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (mut head, body) = request.into_parts();
    let authority = head.uri.authority().map(|it| it.as_str()).unwrap_or_default();
    head.headers.insert(header::HOST, HeaderValue::from_str(authority)?);
    let path = head.uri.path_and_query().map(|it| it.as_str()).unwrap_or_default();
    head.uri = path.parse()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let running = tokio::spawn(connection);
    let reply = sender.send_request(Request::from_parts(head, body.boxed_unsync())).await?;
    let (head, body) = reply.into_parts();
    let body = body.collect().await?.to_bytes();
    running.abort();
    Ok(Response::from_parts(head, body))
}
