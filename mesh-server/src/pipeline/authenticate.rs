//! Authentication of the requests of an application. Every handler gets its [`Caller`] from here.

use bytes::Bytes;
use mesh_wire::WireError;

use super::body::RequestBody;
use super::context::RequestContext;
use crate::identity::authenticator::{Credential, Identified};
use crate::identity::caller::Caller;
#[cfg(feature = "mcp")]
use crate::identity::signed::Access;
use crate::identity::signed::{Content, Signed};

/// Authenticates a request whose body, if it has one, is not read before.
pub(crate) async fn without_body(cx: &RequestContext<'_>, signed: Signed<'_>) -> Result<Caller, WireError> {
    verify(cx, identify(cx).await?, signed).await
}

/// Authenticates a request with a JSON body, and reads the body.
pub(crate) async fn with_body(
    cx: &RequestContext<'_>,
    content: Content,
    body: RequestBody,
) -> Result<(Caller, Bytes), WireError> {
    let identified = identify(cx).await?;
    let body = read_body(cx, body).await?;
    let caller = verify(cx, identified, Signed::Body(content, &body)).await?;
    Ok((caller, body))
}

/// Checks the credential.
pub(crate) async fn identify<'r>(cx: &RequestContext<'r>) -> Result<Identified<'r>, WireError> {
    let identified = cx.shared.options.authenticator.identify(cx.parts()).await?;
    if !identified.needs_signature() {
        cx.record.set_caller(identified.unverified());
    }
    Ok(identified)
}

/// Verifies the signature.
pub(crate) async fn verify(
    cx: &RequestContext<'_>,
    identified: Identified<'_>,
    signed: Signed<'_>,
) -> Result<Caller, WireError> {
    let persisted = cx.shared.queries.persisted.as_deref();
    let caller = if identified.needs_signature() {
        // Boxed, so that reads without a signature need little memory.
        Box::pin(identified.verify_signature(signed, persisted)).await?
    } else {
        identified.check_unsigned(signed)?
    };
    let caller = accept(cx, caller)?;
    signed.check_params(&cx.parts())?;
    Ok(caller)
}

/// Counts a request against the rate of its session.
fn accept(cx: &RequestContext<'_>, caller: Caller) -> Result<Caller, WireError> {
    cx.record.set_caller(&caller);
    if let Some(session) = caller.session() {
        cx.shared.options.rates.check_session(session.session)?;
    }
    Ok(caller)
}

/// Checks that a caller that was authenticated for a read may also write.
#[cfg(feature = "mcp")]
pub(crate) fn allow_write(cx: &RequestContext<'_>, caller: &Caller) -> Result<(), WireError> {
    cx.shared.options.authenticator.check_unsigned(caller, Access::Write)
}

/// Authenticates a call of the docs surface, which needs no signature. Without a credential the options of the surface decide.
/// `SPEC §13.3`
pub(crate) async fn docs(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    let authenticator = &cx.shared.options.authenticator;
    let credential = authenticator.credential(&cx.mesh_headers.reject_repeated()?)?;
    if matches!(credential, Credential::None | Credential::Other)
        && authenticator.anonymous.is_none()
        && authenticator.local.is_none()
    {
        return Ok(Caller::PUBLIC);
    }
    accept(cx, identify(cx).await?.unverified().clone())
}

/// Accepts a request to a route that needs neither token nor signature.
pub(crate) fn anonymous(cx: &RequestContext<'_>) -> Result<Caller, WireError> {
    cx.shared.options.authenticator.credential(&cx.mesh_headers.reject_repeated()?)?;
    Ok(Caller::PUBLIC)
}

/// Reads a JSON body within the limits of size and time.
pub(crate) async fn read_body(cx: &RequestContext<'_>, body: RequestBody) -> Result<Bytes, WireError> {
    let read = cx.before_deadline(body.read(cx.shared.options.limits.body_bytes)).await;
    read.ok_or_else(|| WireError::transport("The body did not arrive in time"))?
}
