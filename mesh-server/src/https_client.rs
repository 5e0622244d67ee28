//! The HTTP client for key sets and purges. It does not follow redirects.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
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
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), faults: faults.join("; ") })
    }

    /// Sends a request.
    pub(crate) async fn send(&self, request: Request<B>) -> Result<Response<Incoming>, BoxError> {
        self.client.request(request).await.map_err(|error| match self.faults.as_str() {
            "" => BoxError::from(error),
            faults => format!("{}; {faults}", with_causes(&error)).into(),
        })
    }
}

/// Whether a host of a URL is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}
