//! Authentication: token, body, signature, in this order. `SPEC §7`
//!
//! Every handler gets its [`Caller`] from here, and no other file creates one.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderValue, Method};
use mesh_integrity::{IntegrityError, Message, SignatureHeaders, SignatureTarget};
use mesh_wire::request::decode_body;
use mesh_wire::{MeshHeaders, WireError};

use super::body::RequestBody;
use super::context::{Caller, PUBLIC, RequestContext};
use super::query;
use crate::integrity::{Integrity, KnownToken};
use crate::observability::error_log;

/// The content of a body, on which the signed bytes depend. `SPEC §7.4`
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// The fields of a write, whose signature is bound to one use.
    Fields,
    /// The fields of a PUT on a record, which without a body is a read.
    OptionalFields,
    /// A query, and with it the format that a bound signature covers.
    Query,
    /// The input of a route of the application, which may also be signed as the value of the query header.
    Application,
}

/// Authenticates a request without a body, or whose body is described by its statement: the signature covers the value
/// of the query header.
pub(crate) async fn without_body(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    let pending = open(cx).await?;
    if pending.token.is_none() {
        return Ok(PUBLIC);
    }
    let message = bodiless(&pending.headers);
    // Boxed, so that reads without a signature need little memory.
    Box::pin(pending.verify(cx, &message, None, Use::Any)).await
}

/// Authenticates a write without a body. Its signature is bound to one use, because the plain one of a read with the
/// same query is equal. `SPEC §7.9`
pub(crate) async fn write_without_body(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    let pending = open(cx).await?;
    let headers = pending.headers;
    let message = Message::new(headers.statement());
    let caller = pending.verify(cx, &message, None, Use::Once).await?;
    headers.reject_params()?;
    Ok(caller)
}

/// Returns the message of a request without a body. `SPEC §7.4`, `SPEC §19.4`
fn bodiless<'h>(headers: &MeshHeaders<'h>) -> Message<'h> {
    match headers.params {
        None => Message::new(headers.statement()),
        Some(params) => Message::with_params(headers.statement(), params.as_bytes()),
    }
}

/// Authenticates a request with a JSON body, and reads the body.
pub(crate) async fn with_body(
    cx: &RequestContext<'_>,
    content: Content,
    body: RequestBody,
) -> Result<(Caller, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = read_body(cx, body).await?;
    let statement = pending.headers.statement();
    let message = match content {
        Content::OptionalFields if body.is_empty() => bodiless(&pending.headers),
        Content::Application if is_bodiless(cx, statement, &body) => Message::new(statement),
        Content::Application => Message::for_application(statement, &body),
        _ => Message::with_body(statement, &body),
    };
    let formats = (content == Content::Query).then(|| {
        // A body that cannot be decoded is refused after the signature is verified.
        let format = decode_body(cx.head.headers, &body).map(|posted| posted.format.name());
        format.map_or(FORMATS, |format| [format; 2])
    });
    let required = match content {
        Content::Fields => Use::Once,
        Content::OptionalFields if !body.is_empty() => Use::Once,
        _ => Use::Any,
    };
    let headers = pending.headers;
    let caller = pending.verify(cx, &message, formats, required).await?;
    if content != Content::OptionalFields || !body.is_empty() {
        headers.reject_params()?;
    }
    Ok((caller, body))
}

/// Returns whether a request to a route of the application is signed as one without a body.
///
/// A body that was removed on the way must not pass for an absent one. So methods that may have a body need a statement
/// that is empty or that of an empty object.
fn is_bodiless(cx: &RequestContext<'_>, statement: &[u8], body: &Bytes) -> bool {
    let is_empty_object = || Message::for_application(statement, b"{}").bytes() == statement;
    body.is_empty()
        && match *cx.head.method {
            Method::GET | Method::HEAD => true,
            Method::DELETE => statement.is_empty() || is_empty_object(),
            _ => false,
        }
}

/// Authenticates the download of a stored file: the signature covers the storage key in the path. `SPEC §9.7`
pub(crate) async fn file(cx: &RequestContext<'_>, key: &str) -> Result<Caller, WireError> {
    open(cx).await?.verify(cx, &Message::new(key.as_bytes()), Some(JSON), Use::Any).await
}

/// Authenticates a call of the docs surface, which needs no signature. `SPEC §13.3`
pub(crate) async fn by_token(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    match open(cx).await?.token {
        Some((_, known)) => caller(cx, &known),
        None => Ok(PUBLIC),
    }
}

/// Accepts a request to a route that needs neither token nor signature.
pub(crate) fn anonymous(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    cx.mesh_headers.reject_repeated()?;
    Ok(PUBLIC)
}

/// Reads a JSON body within the limits of size and time.
pub(crate) async fn read_body(cx: &RequestContext<'_>, body: RequestBody) -> Result<Bytes, WireError> {
    let read = cx.before_deadline(body.read(cx.shared.limits.body_bytes)).await;
    read.ok_or_else(|| WireError::transport("The body did not arrive in time"))?
}

/// A request whose token is valid and whose signature is not yet verified.
struct Pending<'r> {
    headers: MeshHeaders<'r>,
    /// `None` without integrity: no signature is needed.
    token: Option<(&'r Integrity, Arc<KnownToken>)>,
}

/// Checks the token.
async fn open<'r>(cx: &RequestContext<'r>) -> Result<Pending<'r>, WireError> {
    let headers = cx.mesh_headers.reject_repeated()?;
    let Some(integrity) = &cx.shared.integrity else { return Ok(Pending { headers, token: None }) };
    let known = integrity.open_token(headers.token.map(HeaderValue::as_bytes))?;
    let checked = integrity.gate.check(known.token.session(), SystemTime::now()).await;
    checked.inspect_err(|error| log_unavailable(cx, error))?;
    Ok(Pending { headers, token: Some((integrity, known)) })
}

/// The formats of a signed query: the second is tried if the signature is invalid with the first.
type Formats<'a> = [&'a str; 2];

/// How often a signature may be used, unless binding is off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// As often as the setting allows.
    Any,
    /// Once: it is bound.
    Once,
}

const FORMATS: Formats<'_> = ["json", "ql"];
const JSON: Formats<'_> = ["json"; 2];

impl Pending<'_> {
    /// Verifies the signature. If bound, it covers one of `formats`, or else the format of the query in the headers.
    async fn verify(
        self,
        cx: &RequestContext<'_>,
        message: &Message<'_>,
        formats: Option<Formats<'_>>,
        required: Use,
    ) -> Result<Caller, WireError> {
        let Some((Integrity { gate, .. }, known)) = self.token else { return Ok(PUBLIC) };
        let [format, other] = match formats {
            Some(formats) => formats,
            None => header_formats(cx, &self.headers).await?,
        };
        let (proof, now) = (proof(&self.headers), SystemTime::now());
        let verify = async |format| match required {
            Use::Any => gate.verify(&known.token, message, &proof, &aim(cx, format), now).await,
            Use::Once => gate.verify_bound(&known.token, message, &proof, &aim(cx, format), now).await,
        };
        let mut verified = verify(format).await;
        if matches!(verified, Err(IntegrityError::SignatureInvalid)) && other != format {
            verified = verify(other).await;
        }
        verified.inspect_err(|error| log_unavailable(cx, error))?;
        caller(cx, &known)
    }
}

/// Counts a request against the rate of its session.
fn caller(cx: &RequestContext<'_>, known: &KnownToken) -> Result<Caller, WireError> {
    let session = known.token.session();
    cx.record.set_session(session);
    cx.shared.rates.check_session(session.session)?;
    Ok(Caller { session: Some(Arc::clone(session)), principal: Some(Arc::clone(&known.principal)) })
}

/// Returns the format of the query in the headers, and `json` without one. `SPEC §7.9`
async fn header_formats<'r>(
    cx: &RequestContext<'_>,
    headers: &MeshHeaders<'r>,
) -> Result<Formats<'r>, WireError> {
    if headers.timestamp.is_none() {
        // The signature is not bound, so it covers no format.
        return Ok(JSON);
    }
    if headers.query.is_some() {
        let format = headers.format.map(|format| format.to_str().unwrap_or_default());
        return Ok([format.unwrap_or("json"); 2]);
    }
    let (Some(id), Some(persisted)) = (headers.query_id, &cx.shared.persisted) else { return Ok(JSON) };
    // An unknown id is reported as such and not as an invalid signature.
    let query = persisted.find(id.to_str().unwrap_or_default()).await;
    let query = query.map_err(|error| query::store_failed(cx, &error))?;
    Ok(query.map_or(FORMATS, |query| [query.format().name(); 2]))
}

/// Returns the headers that carry the signature.
pub(crate) fn proof<'r>(headers: &MeshHeaders<'r>) -> SignatureHeaders<'r> {
    SignatureHeaders {
        signature: headers.signature.map(HeaderValue::as_bytes),
        timestamp: headers.timestamp.map(HeaderValue::as_bytes),
        nonce: headers.nonce.map(HeaderValue::as_bytes),
    }
}

/// Returns what a bound signature covers in addition to the message.
pub(crate) fn aim<'a>(cx: &'a RequestContext<'_>, format: &'a str) -> SignatureTarget<'a> {
    SignatureTarget { method: cx.head.method.as_str(), path: cx.uri.path(), format }
}

/// Logs the cause of an unavailable store, which the client is not sent.
pub(crate) fn log_unavailable(cx: &RequestContext<'_>, error: &IntegrityError) {
    if let IntegrityError::Unavailable(store) = error {
        error_log::chain(cx.request_id(), store);
    }
}
