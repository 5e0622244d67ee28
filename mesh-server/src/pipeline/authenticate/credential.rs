//! The credential of a request, and the caller that it identifies without a signature. `SPEC §17`

use std::sync::Arc;

use mesh_integrity::bearer::{BearerError, BearerFault};
use mesh_integrity::{API_KEY_PREFIX, IntegrityError};
use mesh_wire::{Authorization, Challenge, MeshHeaders, WireError};

use crate::identity::KnownCaller;
use crate::identity::api_keys::{ApiKeyError, ApiKeys};
use crate::identity::bearer::Bearer;
use crate::identity::refresh::RefreshOutcome;
use crate::observability::error_log;
use crate::pipeline::admission::{self, RETRY_AFTER};
use crate::pipeline::context::RequestContext;

/// The credential that a request presents to identify its caller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Credential<'r> {
    /// No credential.
    None,
    /// The token of a session, in `X-Mesh-Token`.
    Session,
    /// A token in `Authorization: Bearer`, unchecked.
    Bearer(&'r [u8]),
    /// A credential of another scheme.
    Other,
}

impl<'r> Credential<'r> {
    /// Returns the credential of a request. If no bearers are accepted, `Authorization` is ignored.
    ///
    /// # Errors
    /// 400 if there are two credentials.
    pub(crate) fn read(cx: &RequestContext<'r>, headers: &MeshHeaders<'r>) -> Result<Self, WireError> {
        let authorization = match cx.shared.identities.can_authenticate() {
            true => headers.authorization()?,
            false => Authorization::None,
        };
        match (authorization, headers.token) {
            (Authorization::Bearer(_), Some(_)) => Err(WireError::transport(
                "Authorization: Bearer and X-Mesh-Token are mutually exclusive; send only one of them",
            )),
            (Authorization::Bearer(token), None) => Ok(Self::Bearer(token)),
            (_, Some(_)) => Ok(Self::Session),
            (Authorization::Other, None) => Ok(Self::Other),
            (Authorization::None, None) => Ok(Self::None),
        }
    }
}

/// Verifies the token of a bearer, which may be an API key.
pub(crate) async fn identify(cx: &RequestContext<'_>, token: &[u8]) -> Result<Arc<KnownCaller>, WireError> {
    let identities = &cx.shared.identities;
    if let Some(keys) = identities.api_keys.as_ref().filter(|_| token.starts_with(API_KEY_PREFIX.as_bytes()))
    {
        return look_up(cx, keys, token).await;
    }
    match &identities.bearer {
        Some(bearer) => verify(cx, bearer, token).await,
        None => Err(BearerError::from(BearerFault::Parts).into()),
    }
}

/// Finds the caller of an API key. `SPEC §17.3`
async fn look_up(cx: &RequestContext<'_>, keys: &ApiKeys, key: &[u8]) -> Result<Arc<KnownCaller>, WireError> {
    if let Some(known) = keys.cached(key) {
        return Ok(known?);
    }
    let failures = &cx.shared.rates.failures;
    let found = admission::run(cx, keys.find(key, failures, cx.address)).await?;
    let found = found.ok_or_else(|| WireError::unavailable(RETRY_AFTER))?;
    if let Err(ApiKeyError::Unavailable(error)) = &found {
        error_log::chain(cx.request_id(), error);
    }
    Ok(found?)
}

/// Verifies a JWT. If it has been verified before, only its times are compared.
async fn verify(
    cx: &RequestContext<'_>,
    bearer: &Bearer,
    token: &[u8],
) -> Result<Arc<KnownCaller>, WireError> {
    if let Some(known) = bearer.cached(token) {
        return Ok(known?);
    }
    let failures = &cx.shared.rates.failures;
    failures.count(cx.address)?;
    let mut verified = bearer.verify(token);
    if let Err(BearerError::UnknownKey) = verified {
        verified = match cx.before_deadline(bearer.request_refresh()).await {
            Some(RefreshOutcome::Read) => bearer.verify(token),
            Some(RefreshOutcome::Fixed) => verified,
            Some(RefreshOutcome::Busy) | None => Err(BearerError::NoKeys),
        };
    }
    if !matches!(verified, Err(BearerError::Invalid(_))) {
        failures.uncount(cx.address);
    }
    Ok(verified?)
}

/// Returns the error of a request without an accepted credential.
pub(crate) fn missing(cx: &RequestContext<'_>) -> WireError {
    let error = WireError::from(BearerError::Missing);
    match cx.shared.integrity {
        Some(_) if !cx.shared.identities.can_authenticate() => IntegrityError::TokenMissing.into(),
        Some(_) => error.with_challenge(Challenge::Any),
        None => error,
    }
}
