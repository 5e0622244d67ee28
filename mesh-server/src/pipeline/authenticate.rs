//! Authentication: credential, body, signature, in this order. `SPEC §7`, `SPEC §17`
//!
//! Every handler gets its [`Caller`] from here, and no other file creates one.

pub(crate) mod credential;

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderValue, Method};
use mesh_integrity::bearer::BearerError;
use mesh_integrity::{IntegrityError, Message, SignatureHeaders, SignatureTarget};
use mesh_wire::request::decode_body;
use mesh_wire::{MeshHeaders, WireError};

use super::body::RequestBody;
use super::context::{Caller, PUBLIC, RequestContext};
use super::query;
use crate::identity::KnownCaller;
use crate::integrity::{Integrity, KnownToken};
use crate::observability::error_log;
use crate::observability::record::CallerKind;
use credential::{Credential, identify, missing};

/// The content of a body, on which the signed bytes depend. `SPEC §7.4`
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// The fields of a write, whose signature is bound to one use.
    Fields,
    /// The fields of a PUT on a record. Without a body, the PUT is a read.
    OptionalFields,
    /// A query to run. A bound signature also covers its format.
    Query,
    /// A query to register.
    Registration,
    /// A message of the Model Context Protocol, whose signature is bound to one use if its tools may write.
    #[cfg(feature = "mcp")]
    Call { writes: bool },
    /// The input of a route of the application, which may also be signed as the value of the query header.
    Application,
}

/// Authenticates a read without a body: the signature covers the value of the query header.
pub(crate) async fn without_body(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    unbound(cx, Access::Read).await
}

/// Authenticates an upload, whose body is described by its statement: the signature covers the value of the query header.
pub(crate) async fn upload(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    unbound(cx, Access::Write).await
}

async fn unbound(cx: &RequestContext<'_>, access: Access) -> Result<Caller, WireError> {
    let pending = open(cx).await?;
    if let Evidence::None = pending.evidence {
        return Ok(PUBLIC);
    }
    let message = message_without_body(&pending.headers);
    // Boxed, so that reads without a signature need little memory.
    Box::pin(pending.verify(cx, &message, None, (access, SignatureUse::Any))).await
}

/// Authenticates a write without a body. Its signature is bound to one use, because its unbound signature would equal
/// that of a read with the same query. `SPEC §7.9`
pub(crate) async fn write_without_body(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    let pending = open(cx).await?;
    let headers = pending.headers;
    let message = Message::new(headers.statement());
    let caller = pending.verify(cx, &message, None, (Access::Write, SignatureUse::Once)).await?;
    headers.reject_params()?;
    Ok(caller)
}

/// Returns the message of a request without a body. `SPEC §7.4`, `SPEC §19.4`
fn message_without_body<'h>(headers: &MeshHeaders<'h>) -> Message<'h> {
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
    let is_signed = matches!(pending.evidence, Evidence::Token(..));
    let message = match content {
        _ if !is_signed => Message::new(statement),
        Content::OptionalFields if body.is_empty() => message_without_body(&pending.headers),
        Content::Application if is_bodiless(cx, statement, &body) => Message::new(statement),
        Content::Application => Message::for_application(statement, &body),
        _ => Message::with_body(statement, &body),
    };
    let has_format = matches!(content, Content::Query | Content::Registration);
    let formats = (is_signed && has_format).then(|| {
        // A body that cannot be decoded is refused after the signature is verified.
        let format = decode_body(cx.head.headers, &body).map(|posted| posted.format.as_str());
        format.map_or(FORMATS, |format| [format; 2])
    });
    let required = match content {
        Content::Fields => (Access::Write, SignatureUse::Once),
        Content::OptionalFields if body.is_empty() => (Access::Read, SignatureUse::Any),
        Content::OptionalFields => (Access::Write, SignatureUse::Once),
        Content::Query => (Access::Read, SignatureUse::Any),
        Content::Registration => (Access::Registration, SignatureUse::Any),
        // Whether a message writes is checked later, by `allow_write`.
        #[cfg(feature = "mcp")]
        Content::Call { writes } => {
            (Access::Read, if writes { SignatureUse::Once } else { SignatureUse::Any })
        }
        Content::Application if matches!(*cx.head.method, Method::GET | Method::HEAD) => {
            (Access::Read, SignatureUse::Any)
        }
        Content::Application => (Access::Write, SignatureUse::Any),
    };
    let headers = pending.headers;
    let caller = pending.verify(cx, &message, formats, required).await?;
    if content != Content::OptionalFields || !body.is_empty() {
        headers.reject_params()?;
    }
    Ok((caller, body))
}

/// Checks that a caller that was authenticated for a read may also write.
#[cfg(feature = "mcp")]
pub(crate) fn allow_write(cx: &RequestContext<'_>, caller: &Caller) -> Result<(), WireError> {
    let Err(error) = check_unsigned(cx, Access::Write) else { return Ok(()) };
    if caller.known().is_some() {
        return Err(error.into());
    }
    // Without another credential, a session means that the request was signed.
    if caller.session().is_some() { Ok(()) } else { Err(missing(cx)) }
}

/// Returns whether a request to a route of the application is signed as one without a body.
///
/// A body that was removed in transit must not be mistaken for an absent one. A DELETE therefore needs a statement that
/// is empty or that of an empty object, and requests by POST, PUT and PATCH are always signed with a body.
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
    open(cx)
        .await?
        .verify(cx, &Message::new(key.as_bytes()), Some(JSON), (Access::Read, SignatureUse::Any))
        .await
}

/// Authenticates a call of the docs surface, which needs no signature. Without a credential the options of the surface decide.
/// `SPEC §13.3`
pub(crate) async fn docs(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    let headers = cx.mesh_headers.reject_repeated()?;
    let credential = Credential::read(cx, &headers)?;
    if matches!(credential, Credential::None | Credential::Other)
        && cx.shared.identities.anonymous.is_none()
        && cx.shared.identities.local.is_none()
    {
        return Ok(PUBLIC);
    }
    match open(cx).await?.evidence {
        Evidence::None => Ok(PUBLIC),
        Evidence::Token(_, known) => caller(cx, &known),
        Evidence::Known(known) => known_caller(cx, known),
        Evidence::Principal(caller) => Ok(caller),
    }
}

/// Accepts a request to a route that needs neither token nor signature.
pub(crate) fn anonymous(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    let headers = cx.mesh_headers.reject_repeated()?;
    Credential::read(cx, &headers)?;
    Ok(PUBLIC)
}

/// Reads a JSON body within the limits of size and time.
pub(crate) async fn read_body(cx: &RequestContext<'_>, body: RequestBody) -> Result<Bytes, WireError> {
    let read = cx.before_deadline(body.read(cx.shared.limits.body_bytes)).await;
    read.ok_or_else(|| WireError::transport("The body did not arrive in time"))?
}

/// A request whose credential is valid and whose signature, if it needs one, is not yet verified.
struct Pending<'r> {
    headers: MeshHeaders<'r>,
    evidence: Evidence<'r>,
}

/// The evidence of who sent a request.
enum Evidence<'r> {
    /// No credential, and none is required.
    None,
    /// The token of a session that must have signed the request.
    Token(&'r Integrity, Arc<KnownToken>),
    /// A credential that needs no signature.
    Known(Arc<KnownCaller>),
    /// No evidence: the caller is anonymous or the local principal.
    Principal(Caller),
}

/// Checks the credential.
async fn open<'r>(cx: &RequestContext<'r>) -> Result<Pending<'r>, WireError> {
    let headers = cx.mesh_headers.reject_repeated()?;
    let identities = &cx.shared.identities;
    let credential = Credential::read(cx, &headers)?;
    if let Some(principal) = &identities.local {
        cx.record.set_local(principal);
        return Ok(Pending { headers, evidence: Evidence::Principal(Caller::anonymous(principal)) });
    }
    let evidence = match (credential, &cx.shared.integrity, &identities.anonymous) {
        (Credential::Bearer(token), ..) => Evidence::Known(Box::pin(identify(cx, token)).await?),
        (Credential::None, _, Some(principal)) => {
            cx.record.set_caller_kind(CallerKind::Anonymous);
            Evidence::Principal(Caller::anonymous(principal))
        }
        (Credential::Session, Some(integrity), _) => session(cx, integrity, &headers).await?,
        _ if identities.can_authenticate() => return Err(missing(cx)),
        (_, Some(integrity), _) => session(cx, integrity, &headers).await?,
        (_, None, _) => Evidence::None,
    };
    Ok(Pending { headers, evidence })
}

/// Checks the token of a session.
async fn session<'r>(
    cx: &RequestContext<'r>,
    integrity: &'r Integrity,
    headers: &MeshHeaders<'r>,
) -> Result<Evidence<'r>, WireError> {
    let known = integrity.open_token(headers.token.map(HeaderValue::as_bytes))?;
    let checked = integrity.gate.check(known.token.session(), SystemTime::now()).await;
    checked.inspect_err(|error| log_unavailable(cx, error))?;
    Ok(Evidence::Token(integrity, known))
}

/// The access that a request needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    Registration,
}

/// Checks that a caller without a signature has this access. If signatures are required, only reads may be unsigned,
/// and only if the setting allows it. `SPEC §17.5`
fn check_unsigned(cx: &RequestContext<'_>, access: Access) -> Result<(), BearerError> {
    let needs_none = cx.shared.integrity.is_none();
    match access {
        _ if needs_none => Ok(()),
        Access::Read if cx.shared.identities.unsigned => Ok(()),
        Access::Read | Access::Write | Access::Registration => Err(BearerError::Unsigned),
    }
}

/// The formats of a signed query: the second is tried if the signature is invalid with the first.
type Formats<'a> = [&'a str; 2];

/// How often a signature may be used, unless binding is off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SignatureUse {
    /// As often as the setting allows.
    Any,
    /// Once: it is bound.
    Once,
}

const FORMATS: Formats<'_> = ["json", "ql"];
const JSON: Formats<'_> = ["json"; 2];

impl Pending<'_> {
    /// Verifies the signature. A bound signature covers one of `formats` or, if that is `None`, the format of the query
    /// in the headers.
    async fn verify(
        self,
        cx: &RequestContext<'_>,
        message: &Message<'_>,
        formats: Option<Formats<'_>>,
        (access, required): (Access, SignatureUse),
    ) -> Result<Caller, WireError> {
        let (Integrity { gate, .. }, known) = match self.evidence {
            Evidence::None => return Ok(PUBLIC),
            Evidence::Token(integrity, known) => (integrity, known),
            Evidence::Known(known) => {
                cx.record.set_session(known.kind(), &known.session);
                check_unsigned(cx, access)?;
                return known_caller(cx, known);
            }
            Evidence::Principal(caller) => {
                // Registration requires an identity.
                let allowed = access != Access::Registration && check_unsigned(cx, access).is_ok();
                return if allowed { Ok(caller) } else { Err(missing(cx)) };
            }
        };
        let [format, other] = match formats {
            Some(formats) => formats,
            None => header_formats(cx, &self.headers).await?,
        };
        let (proof, now) = (proof(&self.headers), SystemTime::now());
        let verify = async |format| match required {
            SignatureUse::Any => {
                gate.verify(&known.token, message, &proof, &signature_target(cx, format), now).await
            }
            SignatureUse::Once => {
                gate.verify_bound(&known.token, message, &proof, &signature_target(cx, format), now).await
            }
        };
        let mut verified = verify(format).await;
        if matches!(verified, Err(IntegrityError::SignatureInvalid)) && other != format {
            verified = verify(other).await;
        }
        verified.inspect_err(|error| log_unavailable(cx, error))?;
        caller(cx, &known)
    }
}

/// Counts a request against the rate of its session, and returns its caller.
fn caller(cx: &RequestContext<'_>, known: &KnownToken) -> Result<Caller, WireError> {
    let session = known.token.session();
    cx.record.set_session(CallerKind::Session, session);
    cx.shared.rates.check_session(session.session)?;
    Ok(Caller {
        session: Some(Arc::clone(session)),
        principal: Some(Arc::clone(&known.principal)),
        known: None,
    })
}

/// Counts a request against the rate of the credential that identifies its caller, and returns the caller.
fn known_caller(cx: &RequestContext<'_>, known: Arc<KnownCaller>) -> Result<Caller, WireError> {
    cx.record.set_session(known.kind(), &known.session);
    cx.shared.rates.check_session(known.session.session)?;
    Ok(Caller {
        session: Some(Arc::clone(&known.session)),
        principal: Some(Arc::clone(&known.principal)),
        known: Some(known),
    })
}

/// Returns the possible formats of the query in the headers, or `json` without a query. `SPEC §7.9`
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
    // An unknown id is reported as such, not as an invalid signature.
    let query = persisted.find(id.to_str().unwrap_or_default()).await;
    let query = query.map_err(|error| query::store_failed(cx, &error))?;
    Ok(query.map_or(FORMATS, |query| [query.format().as_str(); 2]))
}

/// Returns the headers that carry the signature.
pub(crate) fn proof<'r>(headers: &MeshHeaders<'r>) -> SignatureHeaders<'r> {
    SignatureHeaders {
        signature: headers.signature.map(HeaderValue::as_bytes),
        timestamp: headers.timestamp.map(HeaderValue::as_bytes),
        nonce: headers.nonce.map(HeaderValue::as_bytes),
    }
}

/// Returns the parts of a request that a bound signature covers in addition to the message.
pub(crate) fn signature_target<'a>(cx: &'a RequestContext<'_>, format: &'a str) -> SignatureTarget<'a> {
    SignatureTarget { method: cx.head.method.as_str(), path: cx.uri.path(), format }
}

/// Logs the cause of an unavailable store, which is not sent to the client.
pub(crate) fn log_unavailable(cx: &RequestContext<'_>, error: &IntegrityError) {
    if let IntegrityError::Unavailable(store) = error {
        error_log::chain(cx.request_id(), store);
    }
}
