//! The HTTP client for key sets, purges and traces. It does not follow redirects.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
#[cfg(any(feature = "otlp", feature = "purge"))]
use std::time::Duration;

use bytes::Bytes;
#[cfg(any(feature = "otlp", feature = "purge"))]
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Request, Response, Uri};
#[cfg(any(feature = "otlp", feature = "purge"))]
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};

use crate::observability::error_log::with_causes;
use crate::pipeline::body::BoxError;

/// An HTTP client that trusts the system's certificates, or the certificates in the file that the variable `SSL_CERT_FILE` names.
pub(crate) struct HttpsClient<B> {
    client: Client<HttpsConnector<HttpConnector>, B>,
    /// The problems found while loading the certificates; empty if there are none. They explain why a connection fails
    /// for lack of a certificate.
    faults: String,
}

impl<B> HttpsClient<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    /// Creates a client for a URL. Reads the certificates if the URL needs them.
    pub(crate) fn new(uri: &Uri) -> Result<Self, BoxError> {
        let mut roots = RootCertStore::empty();
        let mut faults = Vec::new();
        if uri.scheme_str() == Some("https") {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            faults.extend(found.errors.first().map(|error| format!("trusted certificates: {error}")));
            if roots.is_empty() {
                faults.push("there are no trusted certificates".to_owned());
            }
        }
        Self::with_roots(roots, faults.join("; "))
    }

    /// Creates a client that trusts these certificates.
    pub(crate) fn with_roots(roots: RootCertStore, faults: String) -> Result<Self, BoxError> {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), faults })
    }

    /// Sends a request.
    pub(crate) async fn send(&self, request: Request<B>) -> Result<Response<Incoming>, BoxError> {
        self.client.request(request).await.map_err(|error| {
            let error = with_causes(&error);
            let faults = match self.faults.as_str() {
                "" if error.contains("invalid peer certificate") => {
                    "its authority is none of the system's, or none in the file that SSL_CERT_FILE names"
                }
                "" => return error.into(),
                faults => faults,
            };
            format!("{error}; {faults}").into()
        })
    }
}

#[cfg(any(feature = "otlp", feature = "purge"))]
impl HttpsClient<Full<Bytes>> {
    /// Sends JSON by POST, with further headers.
    ///
    /// # Errors
    /// There is no reply within the time limit, or its status is not a success.
    pub(crate) async fn post_json(
        &self,
        uri: &Uri,
        headers: HeaderMap,
        body: String,
        limit: Duration,
    ) -> Result<(), BoxError> {
        let mut request = Request::post(uri).body(Full::from(body))?;
        *request.headers_mut() = headers;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let reply = tokio::time::timeout(limit, self.send(request)).await;
        let status = reply.map_err(|_| format!("no answer within {limit:?}"))??.status();
        if status.is_success() { Ok(()) } else { Err(format!("the reply is {status}").into()) }
    }
}

/// A URL that requests can be sent to: `http` or `https`, with a host and without credentials.
///
/// ```
/// use mesh_server::HttpUrl;
///
/// assert!(HttpUrl::parse("http://127.0.0.1:8081/purge").is_ok());
/// assert!(HttpUrl::parse("https://user:password@cache.example/purge").is_err(), "credentials belong into a header");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl(pub(crate) Uri);

impl HttpUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// The text is not a URL, has another scheme, or contains credentials.
    pub fn parse(text: &str) -> Result<Self, HttpUrlError> {
        let uri = text.trim().parse().ok().filter(|uri: &Uri| {
            let has_host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
            has_host && matches!(uri.scheme_str(), Some("http" | "https"))
        });
        // The error does not quote credentials.
        let shown = text.rsplit('@').next().unwrap_or_default();
        uri.map(Self).ok_or_else(|| HttpUrlError { text: shown.to_owned() })
    }

    /// Returns whether requests go over a network without encryption, so that others could read them.
    pub fn is_unencrypted(&self) -> bool {
        self.0.scheme_str() == Some("http") && !self.0.host().is_some_and(is_loopback)
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error of a text that is not a URL that requests can be sent to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a URL such as 'http://127.0.0.1:8081/purge', without credentials")]
pub struct HttpUrlError {
    text: String,
}

/// Whether a host of a URL is this machine.
fn is_loopback(host: &str) -> bool {
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}
