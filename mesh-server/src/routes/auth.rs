//! Login and logout. `SPEC §7.1`, `SPEC §7.5`

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderValue, Response};
use mesh_integrity::bearer::BearerError;
use mesh_integrity::{Credentials, IssuedSession};
use mesh_wire::{WireError, request, response};
use serde_json::Value;

use crate::identity::authenticator::{Credential, log_unavailable, proof, signature_target};
use crate::identity::caller::SESSION;
use crate::integrity::Integrity;
use crate::pipeline::admission;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;

const MAX_CREDENTIALS_BYTES: usize = 64 * 1024;

/// Answers `POST {base}/auth`.
pub(crate) async fn login(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let authenticator = &cx.shared.options.authenticator;
    let Some(integrity) = &authenticator.integrity else { return Err(WireError::not_found()) };
    let headers = cx.mesh_headers.reject_repeated()?;
    if let Credential::Bearer(token) = authenticator.credential(&headers)? {
        return exchange(cx, integrity, token, body).await;
    }
    let credentials = credentials(cx, body).await?;
    let _permit = admission::admit(cx)?;
    // A guess is counted and recorded even if its client does not wait for the answer.
    admission::begin(cx)?;
    let record_account =
        |account: Option<&str>| cx.audit(|details| details.account = account.map(str::to_owned));
    let issued = integrity.login_of(cx.parts(), &credentials, record_account).await?;
    Ok(reply(cx, issued))
}

/// Exchanges a bearer for a session that ends no later than the bearer. `SPEC §17.5`
async fn exchange(
    cx: &RequestContext<'_>,
    integrity: &Integrity,
    token: &[u8],
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    cx.audit(|details| details.event = Some("exchange"));
    let caller = cx.shared.options.authenticator.bearer_caller(&cx.parts(), token).await?;
    let (Some(evidence), Some(session)) = (caller.evidence(), caller.session()) else {
        return Err(WireError::internal());
    };
    cx.record.facts().caller = Some(evidence.name());
    cx.shared.options.rates.check_session(session.session)?;
    if !credentials(cx, body).await?.is_empty() {
        let message =
            "To exchange a bearer token for a session, send an empty JSON object without credentials";
        return Err(WireError::transport(message));
    }
    let end = session.expires_at;
    if end <= SystemTime::now() {
        // Other routes accept such a bearer because of the leeway.
        return Err(BearerError::Expired.into());
    }
    Ok(reply(cx, integrity.begin_session(&cx.parts(), &session.identity(), Some(end))?))
}

/// Reads the body and parses the members of the credentials. The authenticator interprets them.
async fn credentials(cx: &RequestContext<'_>, body: RequestBody) -> Result<Credentials, WireError> {
    let body =
        cx.before_deadline(body.read(cx.shared.options.limits.body_bytes.min(MAX_CREDENTIALS_BYTES))).await;
    let body = body.ok_or_else(|| WireError::transport("The body did not arrive in time"))??;
    request::check_json(cx.head.headers)?;
    match serde_json::from_slice(&body) {
        Ok(Value::Object(credentials)) => Ok(credentials),
        _ => Err(WireError::transport("The body must be a JSON object with the credentials")),
    }
}

/// Returns the reply of a login.
fn reply(cx: &RequestContext<'_>, issued: IssuedSession) -> Response<Body> {
    let body = Bytes::from(issued.to_json());
    let mut facts = cx.record.facts();
    facts.caller.get_or_insert(SESSION);
    facts.session = Some(Arc::new(issued.session));
    response::written(&cx.head, None, Some(body)).map(Body::from)
}

/// Answers `POST {base}/logout`.
pub(crate) async fn logout(cx: &RequestContext<'_>) -> Result<Response<Body>, WireError> {
    let authenticator = &cx.shared.options.authenticator;
    let Some(integrity) = &authenticator.integrity else { return Err(WireError::not_found()) };
    let headers = cx.mesh_headers.reject_repeated()?;
    authenticator.credential(&headers)?;
    let caller = integrity.open_token(headers.token.map(HeaderValue::as_bytes))?;
    let (Some(token), parts) = (caller.token(), cx.parts()) else { return Err(WireError::internal()) };
    admission::begin_unstoppable(cx)?;
    let (proof, target) = (proof(&parts), signature_target(&parts, "json"));
    let ended = integrity.gate.logout(token, &proof, &target, SystemTime::now()).await;
    ended.inspect_err(|error| log_unavailable(&parts, error))?;
    let session = token.session();
    cx.record.set_caller(&caller);
    tracing::debug!(request = %cx.head.request_id, user = session.user, "logged out");
    let body = Bytes::from_static(b"{\"loggedOut\":true}");
    Ok(response::written(&cx.head, None, Some(body)).map(Body::from))
}
