//! The client side of the protocol: requests are built, replies are decoded, nothing is sent.
//!
//! [`Client`] is all of it for one server: reads, pages, writes, streams and uploads, signed and registered as needed.
//! Below it are functions that make one request each. Nothing here carries a request anywhere.

mod calls;
mod operation;
mod pages;
mod session;
mod subscription;
mod upload;
mod writes;

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use mesh_ql::Format;
use serde_json::Map;

use crate::{ErrorBody, QuerySource, base64, headers, percent};
pub use calls::{Client, UploadFile, statement};
pub use operation::Operation;
pub use pages::{Page, Pages};
pub use session::{Session, SignatureBinding, login, logout, register};
pub use subscription::{StreamEvent, Subscription};
pub use upload::{UploadForm, UploadTarget, upload};

/// Where a server is: scheme, host and base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Uri);

impl Endpoint {
    /// Reads a URL such as `http://127.0.0.1:4000/mesh`; a trailing slash means nothing.
    pub fn parse(url: &str) -> Result<Self, ClientError> {
        let refuse = |why| ClientError::Url { url: url.to_owned(), why };
        if url.contains('#') {
            return Err(refuse("it has a fragment"));
        }
        if !url.contains("://") {
            return Err(refuse("it must begin with http:// or https://"));
        }
        let uri: Uri = url.parse().map_err(|_| refuse("it is not a URL"))?;
        match uri.scheme_str() {
            Some("http" | "https") => {}
            Some(_) => return Err(refuse("only http and https are known")),
            None => return Err(refuse("it must begin with http:// or https://")),
        }
        if uri.query().is_some() {
            return Err(refuse("it has a '?'"));
        }
        Ok(Self(uri))
    }

    /// The URL that it was read from.
    pub fn uri(&self) -> &Uri {
        &self.0
    }

    fn at(&self, segments: &[&str]) -> Result<Uri, ClientError> {
        let refuse = |why| ClientError::Url { url: self.0.to_string(), why };
        let path = self.0.path();
        let mut path = path.strip_suffix('/').unwrap_or(path).to_owned();
        for segment in segments {
            if segment.is_empty() {
                return Err(ClientError::EmptySegment);
            }
            path.push('/');
            path.push_str(&percent::encode(segment));
        }
        if path.is_empty() {
            path.push('/');
        }
        let path: PathAndQuery = path.parse().map_err(|_| refuse("the path under it is too long"))?;
        let mut parts = self.0.clone().into_parts();
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).map_err(|_| refuse("it is not a URL"))
    }
}

/// A read of a list by GET.
pub fn collection(at: &Endpoint, entity: &str, query: &QuerySource) -> Result<Request<Bytes>, ClientError> {
    get(at.at(&[entity])?, query)
}

/// A read of one record by GET.
pub fn point(
    at: &Endpoint,
    entity: &str,
    id: &str,
    query: &QuerySource,
) -> Result<Request<Bytes>, ClientError> {
    get(at.at(&[entity, id])?, query)
}

/// A read by POST, whose query may be longer than a header: of one record with an id, else of a list.
pub fn post(
    at: &Endpoint,
    format: Format,
    text: &str,
    id: Option<&str>,
) -> Result<Request<Bytes>, ClientError> {
    let mut body = Map::new();
    body.insert("query".to_owned(), text.into());
    if format != Format::Json {
        body.insert("format".to_owned(), format.name().into());
    }
    if let Some(id) = id {
        body.insert("id".to_owned(), id.into());
    }
    Ok(post_json(at.at(&[])?, &body))
}

fn post_json(uri: Uri, body: &Map<String, serde_json::Value>) -> Request<Bytes> {
    let mut request = Request::new(Bytes::from(serde_json::json!(body).to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request
}

fn get(uri: Uri, query: &QuerySource) -> Result<Request<Bytes>, ClientError> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri;
    say_query(request, query)
}

/// Puts a query into the headers of a request.
fn say_query(mut request: Request<Bytes>, query: &QuerySource) -> Result<Request<Bytes>, ClientError> {
    let fields = request.headers_mut();
    match query {
        QuerySource::Id(id) => {
            let value = HeaderValue::from_str(id).map_err(|_| ClientError::QueryId)?;
            fields.insert(headers::QUERY_ID, value);
        }
        QuerySource::Text { format, text } => {
            fields.insert(headers::QUERY, headers::ascii(base64::encode(text)));
            if *format != Format::Json {
                let value = HeaderValue::from_static(format.name());
                fields.insert(headers::FORMAT, value);
            }
        }
    }
    Ok(request)
}

/// The JSON of a reply, or what it says instead.
pub fn result(reply: Response<Bytes>) -> Result<Bytes, ReplyError> {
    let status = reply.status();
    let content_type = reply.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_json = content_type.is_some_and(headers::names_json);
    if matches!(status, StatusCode::OK | StatusCode::CREATED) && is_json {
        return Ok(reply.into_body());
    }
    match serde_json::from_slice(reply.body()) {
        Ok(body) if is_json && !status.is_success() => Err(ReplyError::Refused { status, body }),
        _ => Err(ReplyError::Foreign { status }),
    }
}

/// Why a request cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// The endpoint's URL.
    Url {
        /// As given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An empty entity or id, whose URL would name something else.
    EmptySegment,
    /// A query id that no header can hold.
    QueryId,
    /// A nonce that no header can hold.
    Nonce,
    /// Fields of a write that are not written in JSON, and why.
    Fields(String),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { url, why } => write!(f, "'{url}' is no endpoint: {why}"),
            Self::EmptySegment => f.write_str("an entity or an id cannot be empty"),
            Self::QueryId => f.write_str("the query id has characters that no header can hold"),
            Self::Nonce => f.write_str("the nonce has characters that no header can hold"),
            Self::Fields(why) => write!(f, "the fields of the write cannot be JSON: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// Why a reply has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// The server says why.
    Refused {
        /// The status.
        status: StatusCode,
        /// The reason.
        body: Box<ErrorBody>,
    },
    /// This is no reply of such a server, but of something on the way or of another one.
    Foreign {
        /// The status.
        status: StatusCode,
    },
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { body, .. } => body.fmt(f),
            Self::Foreign { status } => {
                write!(
                    f,
                    "the answer (status {}) is not of a Mesh server; is the URL right?",
                    status.as_u16()
                )
            }
        }
    }
}

impl std::error::Error for ReplyError {}

#[cfg(test)]
mod tests;
