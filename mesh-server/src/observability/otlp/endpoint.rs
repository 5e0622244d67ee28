//! The address of a collector, and the HTTP client that sends batches to it.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Request, Uri};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::pipeline::body::BoxError;

/// The path of the traces endpoint below a collector's address.
const PATH: &str = "/v1/traces";

/// The address of an OpenTelemetry collector. Connections are not encrypted, so it should be on the same machine or
/// network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    authority: String,
    address: String,
    path: String,
}

impl Endpoint {
    /// Parses an address such as `http://127.0.0.1:4318`.
    ///
    /// # Errors
    /// The text is not a URL, has another scheme than `http`, or contains credentials.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let refused = || EndpointError { text: text.to_owned() };
        let uri: Uri = text.trim().parse().map_err(|_| refused())?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http")).ok_or_else(refused)?;
        if authority.as_str().contains('@') {
            return Err(refused());
        }
        let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(4_318));
        let path = uri.path().trim_end_matches('/');
        let path = if path.ends_with(PATH) { path.to_owned() } else { format!("{path}{PATH}") };
        Ok(Self { authority: authority.to_string(), address, path })
    }

    /// Sends a batch over a new connection.
    pub(super) async fn post(&self, body: Bytes) -> Result<(), BoxError> {
        let stream = TcpStream::connect(&self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let request = Request::post(&self.path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        let reply = sender.send_request(request).await;
        connection.abort();
        let status = reply?.status();
        if status.is_success() { Ok(()) } else { Err(format!("the reply is {status}").into()) }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// The error of a text that is not the address of a collector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not the address of a collector, such as 'http://127.0.0.1:4318'")]
pub struct EndpointError {
    text: String,
}
