//! Authentication of requests: the credential first, then the signature. `SPEC §7`, `SPEC §17`

use std::time::SystemTime;

use http::HeaderValue;
use mesh_integrity::bearer::{BearerError, BearerFault};
use mesh_integrity::{API_KEY_PREFIX, IntegrityError, SignatureHeaders, SignatureTarget};
use mesh_plan::persisted::Persisted;
use mesh_wire::{Authorization, Challenge, MeshHeaders, WireError};

use super::api_keys::{ApiKeyError, ApiKeys};
use super::bearer::Bearer;
use super::caller::{Caller, Evidence};
use super::refresh::RefreshOutcome;
use super::request_parts::RequestParts;
use super::signed::{Access, FORMATS, Formats, JSON, Signed};
use crate::integrity::Integrity;
use crate::observability::error_log;
use crate::rates::Rates;
use crate::rates::client_address::counted_address;
use crate::rates::limiter::RateLimit;

/// Authenticates requests by the token and the signature of a session, by a JWT of an issuer, or by an API key. With none of
/// these, all requests are accepted.
///
/// ```
/// use mesh_server::{Caller, Integrity, RequestAuthenticator, RequestParts, Signed};
/// use mesh_server::mesh_wire::{RequestId, WireError};
///
/// async fn caller(of: &http::request::Parts, integrity: Integrity) -> Result<Caller, WireError> {
///     let mut authenticator = RequestAuthenticator::default();
///     authenticator.integrity = Some(integrity);
///     let request_id = RequestId::from_headers(&of.headers, [7; 16]);
///     authenticator.authenticate(RequestParts::new(of, &request_id), Signed::Read).await
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestAuthenticator {
    /// The sessions, whose requests need a token and a signature. `SPEC §7`
    pub integrity: Option<Integrity>,
    /// The JWTs that are accepted in `Authorization: Bearer`. `SPEC §17`
    pub bearer: Option<Bearer>,
    /// The API keys that are accepted in `Authorization: Bearer`. `SPEC §17.3`
    pub api_keys: Option<ApiKeys>,
    /// Whether callers with a bearer or an API key may read without a signature even if there are sessions. All other requests
    /// need the signature of a session. True by default. `SPEC §17.5`
    pub allows_unsigned_bearers: bool,
    /// The caller of requests without credentials; `None`, the default, refuses them. `SPEC §17.6`
    pub anonymous: Option<Caller>,
    /// The caller of all requests, if one client of this process sends them.
    pub(crate) local: Option<Caller>,
    pub(crate) failures: RateLimit,
}

impl Default for RequestAuthenticator {
    fn default() -> Self {
        Self {
            integrity: None,
            bearer: None,
            api_keys: None,
            allows_unsigned_bearers: true,
            anonymous: None,
            local: None,
            failures: Rates::default().failures,
        }
    }
}

impl RequestAuthenticator {
    /// Returns whether any credentials in `Authorization` are accepted. If not, the header is ignored.
    pub(crate) fn can_authenticate(&self) -> bool {
        self.bearer.is_some() || self.api_keys.is_some()
    }

    /// Returns whether callers have to identify themselves, so that replies depend on the caller.
    pub(crate) fn identifies_callers(&self) -> bool {
        self.integrity.is_some() || self.can_authenticate()
    }

    /// Returns the caller of a request, once its credential and its signature are verified. To read a body between the two, use
    /// [`RequestAuthenticator::identify`].
    ///
    /// # Errors
    /// Those of [`RequestAuthenticator::identify`] and [`Identified::verify`].
    pub async fn authenticate(
        &self,
        parts: RequestParts<'_>,
        signed: Signed<'_>,
    ) -> Result<Caller, WireError> {
        self.identify(parts).await?.verify(signed, None).await
    }

    /// Checks the credential of a request.
    ///
    /// # Errors
    /// 400 if a header is repeated or there are two credentials, 401 if there is none or it is invalid, 429 after too many
    /// invalid ones, 503 if it cannot be checked.
    pub async fn identify<'r>(&'r self, parts: RequestParts<'r>) -> Result<Identified<'r>, WireError> {
        let headers = parts.headers.reject_repeated()?;
        let credential = self.credential(&headers)?;
        let caller = match (&self.local, credential, &self.integrity, &self.anonymous) {
            (Some(local), ..) => local.clone(),
            // Boxed, so that reads without a bearer need little memory.
            (_, Credential::Bearer(token), ..) => Box::pin(self.bearer_caller(&parts, token)).await?,
            (_, Credential::None, _, Some(anonymous)) => anonymous.clone(),
            (_, Credential::Session, Some(integrity), _) => session_caller(&parts, integrity).await?,
            _ if self.can_authenticate() => return Err(self.missing()),
            (.., Some(integrity), _) => session_caller(&parts, integrity).await?,
            (.., None, _) => Caller::PUBLIC,
        };
        Ok(Identified { authenticator: self, parts, caller })
    }

    /// Returns the credential of a request. If no bearers are accepted, `Authorization` is ignored.
    ///
    /// # Errors
    /// 400 if there are two credentials.
    pub(crate) fn credential<'r>(&self, headers: &MeshHeaders<'r>) -> Result<Credential<'r>, WireError> {
        let authorization = match self.can_authenticate() {
            true => headers.authorization()?,
            false => Authorization::None,
        };
        match (authorization, headers.token) {
            (Authorization::Bearer(_), Some(_)) => Err(WireError::transport(
                "Authorization: Bearer and X-Mesh-Token are mutually exclusive; send only one of them",
            )),
            (Authorization::Bearer(token), None) => Ok(Credential::Bearer(token)),
            (_, Some(_)) => Ok(Credential::Session),
            (Authorization::Other, None) => Ok(Credential::Other),
            (Authorization::None, None) => Ok(Credential::None),
        }
    }

    /// Verifies the token of a bearer, which may be an API key. If it has been verified before, only its times are compared.
    pub(crate) async fn bearer_caller(
        &self,
        parts: &RequestParts<'_>,
        token: &[u8],
    ) -> Result<Caller, WireError> {
        let (failures, client) = (&self.failures, parts.address.map(counted_address));
        if let Some(keys) = self.api_keys.as_ref().filter(|_| token.starts_with(API_KEY_PREFIX.as_bytes())) {
            let found = parts.before_deadline(keys.find(token, failures, client)).await;
            let found = found.ok_or_else(WireError::unavailable)?;
            if let Err(ApiKeyError::Unavailable(error)) = &found {
                error_log::chain(parts.head.request_id.as_str(), error);
            }
            return Ok(found?);
        }
        let Some(bearer) = &self.bearer else { return Err(BearerError::from(BearerFault::Parts).into()) };
        if let Some(known) = bearer.cached(token) {
            return Ok(known?);
        }
        failures.count(client)?;
        let mut verified = bearer.verify(token);
        if let Err(BearerError::UnknownKey) = verified {
            verified = match parts.before_deadline(bearer.request_refresh()).await {
                Some(RefreshOutcome::Read) => bearer.verify(token),
                Some(RefreshOutcome::Fixed) => verified,
                Some(RefreshOutcome::Busy) | None => Err(BearerError::NoKeys),
            };
        }
        if !matches!(verified, Err(BearerError::Invalid(_))) {
            failures.uncount(client);
        }
        Ok(verified?)
    }

    /// Checks that a caller may do something without a signature, if it has none. If signatures are required, only reads may be
    /// unsigned, and only if the setting allows it. Registration requires an identity. `SPEC §17.5`
    pub(crate) fn check_unsigned(&self, caller: &Caller, access: Access) -> Result<(), WireError> {
        let allowed = self.integrity.is_none() || (access == Access::Read && self.allows_unsigned_bearers);
        match caller.evidence() {
            None | Some(Evidence::Token(_)) => Ok(()),
            Some(Evidence::Bearer(_) | Evidence::ApiKey(..)) if allowed => Ok(()),
            Some(Evidence::Bearer(_) | Evidence::ApiKey(..)) => Err(BearerError::Unsigned.into()),
            Some(Evidence::Anonymous | Evidence::Local) if allowed && access != Access::Registration => {
                Ok(())
            }
            Some(Evidence::Anonymous | Evidence::Local) => Err(self.missing()),
        }
    }

    /// Checks that the credential of a caller is still valid: it has neither expired nor been withdrawn. A store that is
    /// unavailable withdraws none.
    pub(crate) async fn recheck(&self, caller: &Caller) -> Result<(), WireError> {
        match (caller.evidence(), &self.integrity, &self.bearer, &self.api_keys) {
            (Some(Evidence::Token(token)), Some(integrity), ..) => {
                match integrity.gate.check(token.session(), SystemTime::now()).await {
                    Err(error @ (IntegrityError::TokenExpired | IntegrityError::TokenRevoked)) => {
                        Err(error.into())
                    }
                    Ok(()) | Err(_) => Ok(()),
                }
            }
            (Some(Evidence::Bearer(opened)), _, Some(bearer), _) => Ok(bearer.check(opened)?),
            (Some(Evidence::ApiKey(hash, _)), .., Some(keys)) => Ok(keys.recheck(*hash, caller).await?),
            _ => Ok(()),
        }
    }

    /// Returns the error of a request without an accepted credential.
    fn missing(&self) -> WireError {
        let error = WireError::from(BearerError::Missing);
        match self.integrity {
            Some(_) if !self.can_authenticate() => IntegrityError::TokenMissing.into(),
            Some(_) => error.with_challenge(Challenge::Any),
            None => error,
        }
    }
}

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

/// Opens the token of a session, and checks that the session has not ended.
async fn session_caller(parts: &RequestParts<'_>, integrity: &Integrity) -> Result<Caller, WireError> {
    let caller = integrity.open_token(parts.headers.token.map(HeaderValue::as_bytes))?;
    if let Some(session) = caller.session() {
        let checked = integrity.gate.check(session, SystemTime::now()).await;
        checked.inspect_err(|error| log_unavailable(parts, error))?;
    }
    Ok(caller)
}

/// A request whose credential is valid and whose signature, if it needs one, is not yet verified.
#[derive(Debug)]
pub struct Identified<'r> {
    authenticator: &'r RequestAuthenticator,
    parts: RequestParts<'r>,
    caller: Caller,
}

impl Identified<'_> {
    /// Returns whether a signature has to be verified.
    pub fn needs_signature(&self) -> bool {
        self.caller.token().is_some()
    }

    /// Returns the caller, whose request may have been forged if [`Identified::needs_signature`] is true.
    pub fn unverified(&self) -> &Caller {
        &self.caller
    }

    /// Verifies the signature, or that the request needs none. `persisted` finds the format of a registered query, which a
    /// bound signature covers.
    ///
    /// # Errors
    /// 401, 403 or 429 as the error states, 400 for parameters that the signature does not cover, 503 if a store fails.
    pub async fn verify(
        self,
        signed: Signed<'_>,
        persisted: Option<&Persisted>,
    ) -> Result<Caller, WireError> {
        let parts = self.parts;
        let caller = self.verify_signature(signed, persisted).await?;
        signed.check_params(&parts)?;
        Ok(caller)
    }

    /// Verifies the signature, or that the request needs none, and leaves the parameters unchecked.
    pub(crate) async fn verify_signature(
        self,
        signed: Signed<'_>,
        persisted: Option<&Persisted>,
    ) -> Result<Caller, WireError> {
        let (Some(token), Some(Integrity { gate, .. })) =
            (self.caller.token(), &self.authenticator.integrity)
        else {
            return self.check_unsigned(signed);
        };
        let parts = self.parts;
        let [format, other] = match (parts.headers.timestamp, signed.formats(&parts)) {
            // A signature that is not bound covers no format.
            (None, _) => JSON,
            (Some(_), Some(formats)) => formats,
            (Some(_), None) => header_formats(&parts, persisted).await?,
        };
        let (message, proof, now) = (signed.message(&parts), proof(&parts), SystemTime::now());
        let verify = async |format| {
            let target = signature_target(&parts, format);
            match signed.is_single_use() {
                true => gate.verify_bound(token, &message, &proof, &target, now).await,
                false => gate.verify(token, &message, &proof, &target, now).await,
            }
        };
        let mut verified = verify(format).await;
        if matches!(verified, Err(IntegrityError::SignatureInvalid)) && other != format {
            verified = verify(other).await;
        }
        verified.inspect_err(|error| log_unavailable(&parts, error))?;
        Ok(self.caller)
    }

    /// Returns the caller of a request that needs no signature.
    pub(crate) fn check_unsigned(self, signed: Signed<'_>) -> Result<Caller, WireError> {
        self.authenticator.check_unsigned(&self.caller, signed.access(self.parts.head.method))?;
        Ok(self.caller)
    }
}

/// Returns the possible formats of the query in the headers, or `json` without a query. `SPEC §7.9`
async fn header_formats<'r>(
    parts: &RequestParts<'r>,
    persisted: Option<&Persisted>,
) -> Result<Formats<'r>, WireError> {
    if parts.headers.query.is_some() {
        let format = parts.headers.format.map(|format| format.to_str().unwrap_or_default());
        return Ok([format.unwrap_or("json"); 2]);
    }
    let (Some(id), Some(persisted)) = (parts.headers.query_id, persisted) else { return Ok(JSON) };
    // An unknown id is reported as such, not as an invalid signature.
    let query = persisted.find(id.to_str().unwrap_or_default()).await.map_err(|error| {
        error_log::chain(parts.head.request_id.as_str(), &error);
        WireError::unavailable()
    })?;
    Ok(query.map_or(FORMATS, |query| [query.format().as_str(); 2]))
}

/// Returns the headers that carry the signature.
pub(crate) fn proof<'r>(parts: &RequestParts<'r>) -> SignatureHeaders<'r> {
    let bytes = |value: Option<&'r HeaderValue>| value.map(HeaderValue::as_bytes);
    SignatureHeaders {
        signature: bytes(parts.headers.signature),
        timestamp: bytes(parts.headers.timestamp),
        nonce: bytes(parts.headers.nonce),
    }
}

/// Returns the parts of a request that a bound signature covers in addition to the message.
pub(crate) fn signature_target<'a>(parts: &RequestParts<'a>, format: &'a str) -> SignatureTarget<'a> {
    SignatureTarget { method: parts.head.method.as_str(), path: parts.path, format }
}

/// Logs the cause of an unavailable store, which is not sent to the client.
pub(crate) fn log_unavailable(parts: &RequestParts<'_>, error: &IntegrityError) {
    if let IntegrityError::Unavailable(store) = error {
        error_log::chain(parts.head.request_id.as_str(), store);
    }
}
