//! May this request be answered? The one place that asks the gate, and every handler begins with it.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderValue, Method};
use mesh_integrity::{IntegrityError, Message, Session, SignatureHeaders, SignatureTarget};
use mesh_plan::Principal;
use mesh_wire::WireError;
use mesh_wire::headers::MeshHeaders;
use mesh_wire::request::decode_body;

use super::Exchange;
use crate::app::integrity::{Integrity, KnownToken};
use crate::body::Incoming;

/// SignatureHeaders that a request was let pass. Handlers take it, and only this file makes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admitted {
    session: Option<Arc<Session>>,
    principal: Option<Arc<Principal>>,
}

impl Admitted {
    /// Whose request it is; `None` where integrity is off.
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        self.session.as_ref()
    }

    /// The same in the words that resolvers know.
    pub(crate) fn principal(&self) -> Option<Arc<Principal>> {
        self.principal.clone()
    }
}

/// Admits a request without a body, or one whose body its statement speaks for: what is signed is the value
/// of the query header. `SPEC §7.4`
pub(crate) async fn bodiless(cx: &Exchange<'_>) -> Result<Admitted, WireError> {
    let pending = open(cx).await?;
    let message = Message::new(pending.own.statement());
    pending.verify(cx, &message).await
}

/// The same without waiting; `None` where a store has to be asked, and has not been.
pub(crate) fn bodiless_at_once(cx: &Exchange<'_>) -> Option<Result<Admitted, WireError>> {
    bodiless(cx).now_or_never()
}

/// Admits a request with a JSON body, which is read between token and signature.
pub(crate) async fn with_body(cx: &Exchange<'_>, sent: Incoming) -> Result<(Admitted, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = sent.read(cx.shared.limits.body_bytes, cx.deadline).await?;
    let message = Message::with_body(pending.own.statement(), &body);
    Ok((pending.verify(cx, &message).await?, body))
}

/// Admits a request whose JSON body has the query, and so the format that a bound signature covers.
pub(crate) async fn with_query(cx: &Exchange<'_>, sent: Incoming) -> Result<(Admitted, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = sent.read(cx.shared.limits.body_bytes, cx.deadline).await?;
    let message = Message::with_body(pending.own.statement(), &body);
    // A body that cannot be read is refused for that, once it is known who sent it.
    let format = decode_body(cx.asked.headers, &body).map(|posted| posted.format.name());
    let formats = format.map_or(BOTH, |format| [format; 2]);
    Ok((pending.verify_in(cx, &message, formats).await?, body))
}

/// Admits anybody to what needs no signature, and reads the body.
pub(crate) async fn unsigned(cx: &Exchange<'_>, sent: Incoming) -> Result<(Admitted, Bytes), WireError> {
    cx.own.reject_repeated()?;
    let body = sent.read(cx.shared.limits.body_bytes, cx.deadline).await?;
    Ok((Admitted::default(), body))
}

/// Admits the download of a stored file, where the path's storage key is what is signed. `SPEC §9.7`
pub(crate) async fn of_file(cx: &Exchange<'_>, key: &str) -> Result<Admitted, WireError> {
    open(cx).await?.verify_in(cx, &Message::new(key.as_bytes()), ["json"; 2]).await
}

/// Admits whoever holds a token, for a surface that runs without signatures. `SPEC §13.3`
pub(crate) async fn by_token(cx: &Exchange<'_>) -> Result<Admitted, WireError> {
    match open(cx).await?.opened {
        Some((_, known)) => admitted(cx, &known),
        None => Ok(Admitted::default()),
    }
}

/// Records and counts a request of a session that passed.
fn admitted(cx: &Exchange<'_>, known: &KnownToken) -> Result<Admitted, WireError> {
    let session = known.token.session();
    cx.seen.set_session(session);
    cx.shared.rates.of_session(session.session)?;
    Ok(Admitted { session: Some(Arc::clone(session)), principal: Some(Arc::clone(&known.principal)) })
}

/// Admits a PUT on a record: a write where it has a body, else a read.
pub(crate) async fn with_any_body(cx: &Exchange<'_>, sent: Incoming) -> Result<(Admitted, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = sent.read(cx.shared.limits.body_bytes, cx.deadline).await?;
    let statement = pending.own.statement();
    let message =
        if body.is_empty() { Message::new(statement) } else { Message::with_body(statement, &body) };
    Ok((pending.verify(cx, &message).await?, body))
}

/// Admits a request to a route of the application, whose body may also be signed as the value of the query
/// header. `SPEC §7.4`
pub(crate) async fn of_application(
    cx: &Exchange<'_>,
    sent: Incoming,
) -> Result<(Admitted, Bytes), WireError> {
    let pending = open(cx).await?;
    let body = sent.read(cx.shared.limits.body_bytes, cx.deadline).await?;
    let statement = pending.own.statement();
    let reads = matches!(*cx.asked.method, Method::GET | Method::HEAD);
    // A body that was taken away on the way must not pass for one that was never there, so what is signed
    // without a body says nothing, or that there is none.
    let nothing = statement.is_empty() || Message::for_application(statement, b"{}").bytes() == statement;
    let message = if body.is_empty() && (reads || (*cx.asked.method == Method::DELETE && nothing)) {
        Message::new(statement)
    } else {
        Message::for_application(statement, &body)
    };
    Ok((pending.verify(cx, &message).await?, body))
}

/// A request whose token is good. Nothing may be answered before its signature is, too.
pub(crate) struct Pending<'r> {
    own: MeshHeaders<'r>,
    /// `None` where integrity is off, so that nothing has to be signed.
    opened: Option<(&'r Integrity, Arc<KnownToken>)>,
}

/// Looks at the token.
pub(crate) async fn open<'r>(cx: &Exchange<'r>) -> Result<Pending<'r>, WireError> {
    let own = cx.own.reject_repeated()?;
    let Some(integrity) = &cx.shared.integrity else { return Ok(Pending { own, opened: None }) };
    let known = integrity.open_token(own.token.map(HeaderValue::as_bytes))?;
    let checked = integrity.gate.check(known.token.session(), now()).await;
    checked.inspect_err(|error| log(cx, error))?;
    Ok(Pending { own, opened: Some((integrity, known)) })
}

/// The formats of which one is in effect where only the query could tell which.
const BOTH: [&str; 2] = ["json", "ql"];

impl Pending<'_> {
    /// Looks at the signature.
    pub(crate) async fn verify(
        self,
        cx: &Exchange<'_>,
        message: &Message<'_>,
    ) -> Result<Admitted, WireError> {
        if self.opened.is_none() {
            return Ok(Admitted::default());
        }
        let formats = formats(cx, &self.own).await?;
        self.verify_in(cx, message, formats).await
    }

    /// The same where it is known which format is in effect, or that it is one of two.
    async fn verify_in(
        self,
        cx: &Exchange<'_>,
        message: &Message<'_>,
        [format, other]: [&str; 2],
    ) -> Result<Admitted, WireError> {
        let Some((Integrity { gate, .. }, known)) = self.opened else { return Ok(Admitted::default()) };
        let (proof, now) = (proof(&self.own), now());
        let mut verified = gate.verify(&known.token, message, &proof, &aim(cx, format), now).await;
        if matches!(verified, Err(IntegrityError::SignatureInvalid)) && other != format {
            verified = gate.verify(&known.token, message, &proof, &aim(cx, other), now).await;
        }
        verified.inspect_err(|error| log(cx, error))?;
        admitted(cx, &known)
    }
}

/// The format that a bound signature covers: that of the query in the headers, and `json` where there is
/// none. `SPEC §7.9`
async fn formats<'r>(cx: &Exchange<'_>, own: &MeshHeaders<'r>) -> Result<[&'r str; 2], WireError> {
    if own.timestamp.is_none() {
        return Ok(["json"; 2]);
    }
    if own.query.is_some() {
        let format = own.format.map(|format| format.to_str().unwrap_or_default());
        return Ok([format.unwrap_or("json"); 2]);
    }
    let (Some(id), Some(persisted)) = (own.query_id, &cx.shared.persisted) else {
        return Ok(["json"; 2]);
    };
    // Who signed an id that is not known here learns that, and not that the signature were wrong.
    let query = persisted.find(id.to_str().unwrap_or_default()).await;
    let query = query.map_err(|error| super::persisted::failed(cx, &error))?;
    Ok(query.map_or(BOTH, |query| [query.format().name(); 2]))
}

/// What proves the request.
pub(crate) fn proof<'r>(own: &MeshHeaders<'r>) -> SignatureHeaders<'r> {
    SignatureHeaders {
        signature: own.signature.map(HeaderValue::as_bytes),
        timestamp: own.timestamp.map(HeaderValue::as_bytes),
        nonce: own.nonce.map(HeaderValue::as_bytes),
    }
}

/// What a bound signature is aimed at.
pub(crate) fn aim<'a>(cx: &'a Exchange<'_>, format: &'a str) -> SignatureTarget<'a> {
    SignatureTarget { method: cx.asked.method.as_str(), path: cx.uri.path(), format }
}

/// Logs what the client is not told: why nothing could be found out.
pub(crate) fn log(cx: &Exchange<'_>, error: &IntegrityError) {
    if let IntegrityError::Unavailable(store) = error {
        let cause = store.source().map(ToString::to_string).unwrap_or_default();
        tracing::error!(request = %cx.asked.request_id, "{store}: {cause}");
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
