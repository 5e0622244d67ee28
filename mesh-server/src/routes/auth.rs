//! How does a session begin and end? Login and logout. `SPEC §7.1`, `SPEC §7.5`

use bytes::Bytes;
use http::Response;
use mesh_integrity::{Credentials, Identity, IntegrityError, LoginError};
use mesh_wire::{WireError, request, response};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;

use super::Exchange;
use super::admit::{self, aim, now, proof};
use crate::app::integrity::Integrity;
use crate::body::{Body, Incoming};
use crate::rates::login_attempts::Refused;

/// The most bytes that credentials may have.
const CREDENTIALS_MAX: usize = 64 * 1024;

/// `POST {base}/auth`
pub(crate) async fn login(cx: &Exchange<'_>, sent: Incoming) -> Result<Response<Body>, WireError> {
    let Some(integrity) = &cx.shared.integrity else { return Err(WireError::not_found()) };
    cx.own.reject_repeated()?;
    let body = sent.read(cx.shared.limits.body_bytes.min(CREDENTIALS_MAX), cx.deadline).await?;
    let credentials = credentials(cx, &body)?;
    let account = integrity.authenticator.account(&credentials);
    let _waiting = cx.shared.admission.acquire()?;
    let attempt = integrity.attempts.begin(account.as_deref(), cx.peer(), now()).await;
    let attempt = attempt.map_err(|refused| match refused {
        Refused::Until(seconds) => WireError::rate_limit(seconds),
        Refused::Unknown(error) => {
            let error = IntegrityError::Unavailable(error);
            admit::log(cx, &error);
            error.into()
        }
    })?;
    let checking = integrity.authenticator.authenticate(&credentials);
    let checked = tokio::time::timeout_at(cx.deadline.into(), checking).await;
    match checked.unwrap_or(Err(LoginError::Busy)) {
        Ok(identity) => {
            attempt.forget().await;
            begin(cx, integrity, &identity)
        }
        Err(error) => {
            // Only what may be somebody's guess is counted.
            if !matches!(error, LoginError::Wrong) {
                attempt.forget().await;
            }
            if let LoginError::Failed(cause) = &error {
                tracing::error!(request = %cx.asked.request_id, "{error}: {cause}");
            }
            Err(error.into())
        }
    }
}

/// The credentials, whatever they are made of.
fn credentials(cx: &Exchange<'_>, body: &[u8]) -> Result<Credentials, WireError> {
    if !request::is_json(cx.asked.headers) {
        return Err(WireError::unsupported_media_type());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(credentials)) => Ok(credentials),
        _ => Err(WireError::transport("The body must be a JSON object with the credentials")),
    }
}

/// The reply of a login, with the session that it begins.
fn begin(cx: &Exchange<'_>, integrity: &Integrity, identity: &Identity) -> Result<Response<Body>, WireError> {
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(request = %cx.asked.request_id, "no session can begin: {error}");
        WireError::internal()
    };
    let mut fresh = [0; 16];
    SystemRandom::new().fill(&mut fresh).map_err(|error| failed(&error))?;
    let issued = integrity.gate.login(identity, fresh, now()).map_err(|error| failed(&error))?;
    let mut reply = identity.extra.clone();
    reply.insert("signingToken".to_owned(), issued.signing_token.into());
    reply.insert("token".to_owned(), issued.token.into());
    reply.insert("expiresAt".to_owned(), issued.session.expires_at.into());
    let body = Bytes::from(Value::Object(reply).to_string());
    tracing::debug!(request = %cx.asked.request_id, user = issued.session.user, "logged in");
    Ok(response::written(&cx.asked, None, Some(body)).map(Body::from))
}

/// `POST {base}/logout`
pub(crate) async fn logout(cx: &Exchange<'_>) -> Result<Response<Body>, WireError> {
    let Some(integrity) = &cx.shared.integrity else { return Err(WireError::not_found()) };
    let own = cx.own.reject_repeated()?;
    let known = integrity.open_token(own.token.map(|token| token.as_bytes()))?;
    let ended = integrity.gate.logout(&known.token, &proof(&own), &aim(cx, "json"), now()).await;
    ended.inspect_err(|error| admit::log(cx, error))?;
    tracing::debug!(request = %cx.asked.request_id, user = known.token.session().user, "logged out");
    let body = Bytes::from_static(b"{\"loggedOut\":true}");
    Ok(response::written(&cx.asked, None, Some(body)).map(Body::from))
}
