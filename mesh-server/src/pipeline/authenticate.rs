//! Authentication: token, body, signature, in this order. `SPEC §7`
//!
//! Every handler gets its [`Caller`] from here, and no other file creates one. Which bytes a signature covers depends on
//! the route, so there is one function for each kind of request.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderValue, Method};
use mesh_integrity::{IntegrityError, Message, SignatureHeaders, SignatureTarget};
use mesh_wire::WireError;
use mesh_wire::headers::MeshHeaders;
use mesh_wire::request::decode_body;

use super::caller::{Caller, PUBLIC};
use super::context::RequestContext;
use super::query;
use crate::integrity::{Integrity, KnownToken};
use crate::pipeline::body::RequestBody;

/// Authenticates a request without a body, or whose body is described by its statement: the signature covers the value
/// of the query header. `SPEC §7.4`
pub(crate) async fn without_body(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    let pending = open(cx).await?;
    let message = Message::new(pending.headers.statement());
    pending.verify(cx, &message).await
}

/// Authenticates a request with a JSON body.
pub(crate) async fn with_body(
    cx: &RequestContext<'_>,
    body: RequestBody,
) -> Result<(Caller, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = read_body(cx, body).await?;
    let message = Message::with_body(pending.headers.statement(), &body);
    Ok((pending.verify(cx, &message).await?, body))
}

/// Authenticates a request whose JSON body has the query, and with it the format that a bound signature covers.
pub(crate) async fn with_query(
    cx: &RequestContext<'_>,
    body: RequestBody,
) -> Result<(Caller, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = read_body(cx, body).await?;
    let message = Message::with_body(pending.headers.statement(), &body);
    // A body that cannot be decoded is refused after the signature is verified.
    let format = decode_body(cx.head.headers, &body).map(|posted| posted.format.name());
    let formats = format.map_or(FORMATS, |format| [format; 2]);
    Ok((pending.verify_formats(cx, &message, formats).await?, body))
}

/// Authenticates a PUT on a record: a write with a body, a read without.
pub(crate) async fn with_optional_body(
    cx: &RequestContext<'_>,
    body: RequestBody,
) -> Result<(Caller, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = read_body(cx, body).await?;
    let statement = pending.headers.statement();
    let message =
        if body.is_empty() { Message::new(statement) } else { Message::with_body(statement, &body) };
    Ok((pending.verify(cx, &message).await?, body))
}

/// Authenticates a request to a route of the application, whose body may also be signed as the value of the query
/// header. `SPEC §7.4`
pub(crate) async fn custom_route(
    cx: &RequestContext<'_>,
    body: RequestBody,
) -> Result<(Caller, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = read_body(cx, body).await?;
    let statement = pending.headers.statement();
    let reads = matches!(*cx.head.method, Method::GET | Method::HEAD);
    // A body that was removed on the way must not pass for an absent one. So a signature without a body is accepted
    // only for a statement that is empty or that of an empty object.
    let nothing = statement.is_empty() || Message::for_application(statement, b"{}").bytes() == statement;
    let message = if body.is_empty() && (reads || (*cx.head.method == Method::DELETE && nothing)) {
        Message::new(statement)
    } else {
        Message::for_application(statement, &body)
    };
    Ok((pending.verify(cx, &message).await?, body))
}

/// Authenticates the download of a stored file: the signature covers the storage key in the path. `SPEC §9.7`
pub(crate) async fn file(cx: &RequestContext<'_>, key: &str) -> Result<Caller, WireError> {
    open(cx).await?.verify_formats(cx, &Message::new(key.as_bytes()), ["json"; 2]).await
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
    let checked = integrity.gate.check(known.token.session(), now()).await;
    checked.inspect_err(|error| log_unavailable(cx, error))?;
    Ok(Pending { headers, token: Some((integrity, known)) })
}

/// The formats that are tried if the format of the signed query is unknown.
const FORMATS: [&str; 2] = ["json", "ql"];

impl Pending<'_> {
    /// Verifies the signature.
    async fn verify(self, cx: &RequestContext<'_>, message: &Message<'_>) -> Result<Caller, WireError> {
        if self.token.is_none() {
            return Ok(PUBLIC);
        }
        let formats = signed_formats(cx, &self.headers).await?;
        self.verify_formats(cx, message, formats).await
    }

    /// Verifies a signature that, if bound, covers one of two formats.
    async fn verify_formats(
        self,
        cx: &RequestContext<'_>,
        message: &Message<'_>,
        [format, other]: [&str; 2],
    ) -> Result<Caller, WireError> {
        let Some((Integrity { gate, .. }, known)) = self.token else { return Ok(PUBLIC) };
        let (proof, now) = (proof(&self.headers), now());
        let mut verified = gate.verify(&known.token, message, &proof, &aim(cx, format), now).await;
        if matches!(verified, Err(IntegrityError::SignatureInvalid)) && other != format {
            verified = gate.verify(&known.token, message, &proof, &aim(cx, other), now).await;
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

/// The formats that a bound signature may cover: that of the query in the headers, and `json` without one. `SPEC §7.9`
async fn signed_formats<'r>(
    cx: &RequestContext<'_>,
    headers: &MeshHeaders<'r>,
) -> Result<[&'r str; 2], WireError> {
    if headers.timestamp.is_none() {
        return Ok(["json"; 2]);
    }
    if headers.query.is_some() {
        let format = headers.format.map(|format| format.to_str().unwrap_or_default());
        return Ok([format.unwrap_or("json"); 2]);
    }
    let (Some(id), Some(persisted)) = (headers.query_id, &cx.shared.persisted) else {
        return Ok(["json"; 2]);
    };
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
        let cause = store.source().map(ToString::to_string).unwrap_or_default();
        tracing::error!(request = %cx.head.request_id, "{store}: {cause}");
    }
}

/// Returns milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
