//! The client side of the protocol, without I/O: builds requests and decodes replies.
//!
//! [`Client`] combines reads, pages, writes, subscriptions and uploads for one server, and signs requests and registers
//! queries as configured. The functions of this module build single requests.

mod calls;
mod operation;
mod pages;
mod record_id;
mod session;
mod subscription;
mod upload;
mod writes;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use mesh_ql::{Format, ParamValues};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::request::is_json;
use crate::route::percent;
use crate::{ErrorBody, QuerySource, base64, headers};
pub use calls::{Client, UploadFile, UploadStatement};
pub use operation::Operation;
pub use pages::{List, Page, PageInfo, Pages};
pub use record_id::RecordId;
pub use session::{Session, SignatureBinding, exchange, login, logout, register, with_bearer};
pub use subscription::{StreamEvent, Subscription};
pub use upload::{UploadForm, UploadTarget, upload};

/// The URL of a server: scheme, host and base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Uri);

impl Endpoint {
    /// Parses a URL such as `http://127.0.0.1:4000/mesh`. A trailing slash is ignored.
    ///
    /// # Errors
    /// [`ClientError::Url`] unless it is an HTTP URL without query and fragment.
    pub fn parse(url: &str) -> Result<Self, ClientError> {
        let invalid = |why| ClientError::Url { url: url.to_owned(), why };
        if url.contains('#') {
            return Err(invalid("it has a fragment"));
        }
        let begins_with =
            |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        if !begins_with("http://") && !begins_with("https://") {
            return Err(invalid("it must begin with http:// or https://"));
        }
        let uri: Uri = url.parse().map_err(|_| invalid("it is not a URL"))?;
        if uri.query().is_some() {
            return Err(invalid("it has a query"));
        }
        Ok(Self(uri))
    }

    /// Returns the URL.
    pub fn uri(&self) -> &Uri {
        &self.0
    }

    /// Returns the URL of a path below the base path, whose segments are percent-encoded.
    fn url(&self, segments: &[&str]) -> Result<Uri, ClientError> {
        let invalid = |why| ClientError::Url { url: self.0.to_string(), why };
        let path = self.0.path();
        let mut path = path.strip_suffix('/').unwrap_or(path).to_owned();
        for segment in segments {
            if segment.is_empty() {
                return Err(ClientError::EmptySegment);
            }
            path.push('/');
            path.push_str(segment);
        }
        if path.is_empty() {
            path.push('/');
        }
        let path: PathAndQuery = path.parse().map_err(|_| invalid("the path is too long"))?;
        let mut parts = self.0.clone().into_parts();
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).map_err(|_| invalid("it is not a URL"))
    }
}

/// Builds a read of a list by GET.
///
/// # Errors
/// [`ClientError`] if the entity is empty or a value does not fit into a URL or header.
pub fn collection(
    endpoint: &Endpoint,
    entity: &str,
    query: &QuerySource,
) -> Result<Request<Bytes>, ClientError> {
    get(endpoint.url(&[&percent::encode(entity)])?, query)
}

/// Builds a read of one record by GET.
///
/// # Errors
/// [`ClientError`] if the entity or id is empty, or a value does not fit into a URL or header.
pub fn point(
    endpoint: &Endpoint,
    entity: &str,
    id: impl Into<RecordId>,
    query: &QuerySource,
) -> Result<Request<Bytes>, ClientError> {
    get(endpoint.url(&[&percent::encode(entity), &id.into().to_segment()])?, query)
}

/// Builds a read by POST: of one record if there is an id, else of a list. The query may be longer than a header.
///
/// # Errors
/// [`ClientError::Url`] if the endpoint does not yield a URL.
pub fn post(
    endpoint: &Endpoint,
    format: Format,
    text: &str,
    id: Option<RecordId>,
) -> Result<Request<Bytes>, ClientError> {
    let mut body = Map::new();
    body.insert("query".to_owned(), text.into());
    if format != Format::Json {
        body.insert("format".to_owned(), format.as_str().into());
    }
    if let Some(id) = id {
        body.insert("id".to_owned(), id.to_json());
    }
    Ok(post_json(endpoint.url(&[])?, body))
}

fn post_json(uri: Uri, body: Map<String, Value>) -> Request<Bytes> {
    request(Method::POST, uri, Some(Value::Object(body).to_string().into()))
}

fn get(uri: Uri, query: &QuerySource) -> Result<Request<Bytes>, ClientError> {
    set_query(request(Method::GET, uri, None), query)
}

/// Builds a request with an optional JSON body.
fn request(method: Method, uri: Uri, json: Option<Bytes>) -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    if let Some(json) = json {
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = json;
    }
    request
}

/// Adds parameter values to a read that is not signed yet: to its body if it has one, else as a header. `SPEC §19.2`
pub fn with_params(mut request: Request<Bytes>, params: &ParamValues) -> Request<Bytes> {
    if params.is_empty() {
        return request;
    }
    if let Ok(Value::Object(mut body)) = serde_json::from_slice(request.body()) {
        body.insert("params".to_owned(), serde_json::to_value(params).unwrap_or_default());
        *request.body_mut() = Value::Object(body).to_string().into();
    } else {
        let value = headers::ascii(base64::encode(&params_text(params)));
        request.headers_mut().insert(headers::PARAMS, value);
    }
    request
}

/// Serializes parameter values as JSON.
fn params_text(params: &ParamValues) -> String {
    serde_json::to_string(params).unwrap_or_default()
}

/// Sets the headers that carry a query.
fn set_query(mut request: Request<Bytes>, query: &QuerySource) -> Result<Request<Bytes>, ClientError> {
    let fields = request.headers_mut();
    match query {
        QuerySource::Id(id) => {
            let value = HeaderValue::from_str(id).map_err(|_| ClientError::QueryId)?;
            fields.insert(headers::QUERY_ID, value);
        }
        QuerySource::Text { format, text } => {
            fields.insert(headers::QUERY, headers::ascii(base64::encode(text)));
            if *format != Format::Json {
                let value = HeaderValue::from_static(format.as_str());
                fields.insert(headers::FORMAT, value);
            }
        }
    }
    Ok(request)
}

/// Returns the JSON body of a successful reply.
///
/// # Errors
/// [`ReplyError`] if the server refused the request, or the reply is not one of a Mesh server.
pub fn result(reply: Response<Bytes>) -> Result<Bytes, ReplyError> {
    let status = reply.status();
    let is_json = is_json(reply.headers());
    if matches!(status, StatusCode::OK | StatusCode::CREATED) && is_json {
        return Ok(reply.into_body());
    }
    match serde_json::from_slice(reply.body()) {
        Ok(body) if is_json && !status.is_success() => Err(ReplyError::Refused { status, body }),
        _ => Err(ReplyError::Unexpected { status }),
    }
}

/// The reason why a request cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The URL of the endpoint is invalid.
    #[error("'{url}' is not a valid endpoint: {why}")]
    Url {
        /// The URL.
        url: String,
        /// The reason.
        why: &'static str,
    },
    /// An entity, id or relation is empty.
    #[error("entities, ids and relations must not be empty")]
    EmptySegment,
    /// A query id contains characters that are not allowed in headers.
    #[error("the query id has characters that are not allowed in headers")]
    QueryId,
    /// A nonce contains characters that are not allowed in headers.
    #[error("the nonce has characters that are not allowed in headers")]
    Nonce,
    /// A bearer is empty or contains characters that are not allowed in headers.
    #[error("the bearer is empty or has characters that are not allowed in headers")]
    Bearer,
    /// The fields of a write cannot be serialized as JSON, for the given reason.
    #[error("the fields of the write cannot be serialized as JSON: {0}")]
    Fields(String),
}

/// The reason why a reply has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The server refused the request.
    #[error("{body}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The body of the reply.
        body: Box<ErrorBody>,
    },
    /// The reply came from something other than a Mesh server, such as a proxy.
    #[error("the reply (status {}) did not come from a Mesh server; check the URL", .status.as_u16())]
    Unexpected {
        /// The status.
        status: StatusCode,
    },
    /// The answer does not match the type that it is deserialized to.
    #[error("the answer does not match the type: {why}")]
    Type {
        /// The reason.
        why: String,
    },
}

#[cfg(test)]
mod tests;
