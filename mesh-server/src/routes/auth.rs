//! Login and logout. `SPEC §7.1`, `SPEC §7.5`

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderValue, Response};
use mesh_integrity::bearer::BearerError;
use mesh_integrity::{BoxFuture, Credentials, Identity, LoginError, unix_millis};
use mesh_wire::{WireError, request, response};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;

use crate::integrity::Integrity;
use crate::observability::record::CallerKind;
use crate::pipeline::admission;
use crate::pipeline::authenticate::credential::{Credential, identify};
use crate::pipeline::authenticate::{log_unavailable, proof, signature_target};
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;

const MAX_CREDENTIALS_BYTES: usize = 64 * 1024;

/// Answers `POST {base}/auth`.
pub(crate) async fn login(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let Some(integrity) = &cx.shared.integrity else { return Err(WireError::not_found()) };
    let headers = cx.mesh_headers.reject_repeated()?;
    if let Credential::Bearer(token) = Credential::read(cx, &headers)? {
        return exchange(cx, integrity, token, body).await;
    }
    let credentials = credentials(cx, body).await?;
    let _permit = admission::admit(cx)?;
    // A guess is counted and recorded even if its client does not wait for the answer.
    admission::begin(cx)?;
    let attempt = integrity.attempts.begin(cx.address)?;
    let account = match in_time(cx, integrity.authenticator.account(&credentials)).await {
        Ok(account) => account,
        Err(error) => {
            attempt.uncount();
            return Err(error.into());
        }
    };
    cx.audit(|details| details.account.clone_from(&account));
    let attempt = attempt.count_account(account.as_deref(), cx.request_id()).await?;
    match in_time(cx, integrity.authenticator.authenticate(&credentials)).await {
        Ok(identity) => {
            attempt.uncount().await;
            begin(cx, integrity, &identity, None)
        }
        Err(error) => {
            // Only attempts with wrong credentials count, because only they may be guesses.
            if !matches!(error, LoginError::Wrong) {
                attempt.uncount().await;
            }
            Err(error.into())
        }
    }
}

/// Runs a step of a login before the deadline, and logs the cause of a failure.
async fn in_time<T>(
    cx: &RequestContext<'_>,
    step: BoxFuture<'_, Result<T, LoginError>>,
) -> Result<T, LoginError> {
    let done = cx.before_deadline(step).await.unwrap_or(Err(LoginError::Busy));
    done.inspect_err(|error| {
        if let LoginError::Failed(cause) = error {
            tracing::error!(request = %cx.head.request_id, "{error}: {cause}");
        }
    })
}

/// Exchanges a bearer for a session that ends no later than the bearer. `SPEC §17.5`
async fn exchange(
    cx: &RequestContext<'_>,
    integrity: &Integrity,
    token: &[u8],
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    cx.audit(|details| details.event = Some("exchange"));
    let known = identify(cx, token).await?;
    cx.record.set_caller_kind(known.kind());
    cx.shared.rates.check_session(known.session.session)?;
    if !credentials(cx, body).await?.is_empty() {
        let message =
            "To exchange a bearer token for a session, send an empty JSON object without credentials";
        return Err(WireError::transport(message));
    }
    let end = known.session.expires_at;
    if end <= SystemTime::now() {
        // Other routes accept such a bearer because of the leeway.
        return Err(BearerError::Expired.into());
    }
    begin(cx, integrity, &known.session.identity(), Some(end))
}

/// Reads the body and parses the members of the credentials. The authenticator interprets them.
async fn credentials(cx: &RequestContext<'_>, body: RequestBody) -> Result<Credentials, WireError> {
    let body = cx.before_deadline(body.read(cx.shared.limits.body_bytes.min(MAX_CREDENTIALS_BYTES))).await;
    let body = body.ok_or_else(|| WireError::transport("The body did not arrive in time"))??;
    if !request::is_json(cx.head.headers) {
        return Err(WireError::unsupported_media_type());
    }
    match serde_json::from_slice(&body) {
        Ok(Value::Object(credentials)) => Ok(credentials),
        _ => Err(WireError::transport("The body must be a JSON object with the credentials")),
    }
}

/// Begins a session and returns the reply of its login.
fn begin(
    cx: &RequestContext<'_>,
    integrity: &Integrity,
    identity: &Identity,
    end: Option<SystemTime>,
) -> Result<Response<Body>, WireError> {
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(request = %cx.head.request_id, "cannot begin a session: {error}");
        WireError::internal()
    };
    let mut fresh = [0; 16];
    SystemRandom::new().fill(&mut fresh).map_err(|error| failed(&error))?;
    let issued = integrity
        .gate
        .login_until(identity, fresh, SystemTime::now(), end)
        .map_err(|error| failed(&error))?;
    let mut reply = identity.extra.clone();
    reply.insert("signingToken".to_owned(), issued.signing_token.into());
    reply.insert("token".to_owned(), issued.token.into());
    reply.insert("expiresAt".to_owned(), unix_millis(issued.session.expires_at).into());
    let body = Bytes::from(Value::Object(reply).to_string());
    tracing::debug!(request = %cx.head.request_id, user = issued.session.user, "logged in");
    cx.record.set_session(CallerKind::Session, &Arc::new(issued.session));
    Ok(response::written(&cx.head, None, Some(body)).map(Body::from))
}

/// Answers `POST {base}/logout`.
pub(crate) async fn logout(cx: &RequestContext<'_>) -> Result<Response<Body>, WireError> {
    let Some(integrity) = &cx.shared.integrity else { return Err(WireError::not_found()) };
    let headers = cx.mesh_headers.reject_repeated()?;
    Credential::read(cx, &headers)?;
    let known = integrity.open_token(headers.token.map(HeaderValue::as_bytes))?;
    let (proof, target) = (proof(&headers), signature_target(cx, "json"));
    admission::begin_unstoppable(cx)?;
    let ended = integrity.gate.logout(&known.token, &proof, &target, SystemTime::now()).await;
    ended.inspect_err(|error| log_unavailable(cx, error))?;
    let session = known.token.session();
    cx.record.set_session(CallerKind::Session, session);
    tracing::debug!(request = %cx.head.request_id, user = session.user, "logged out");
    let body = Bytes::from_static(b"{\"loggedOut\":true}");
    Ok(response::written(&cx.head, None, Some(body)).map(Body::from))
}
