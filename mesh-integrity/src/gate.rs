//! The gate: it begins sessions, opens tokens, verifies signatures and ends sessions.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use crate::error::{BindingFault, ReplayReason};
use crate::message::{Message, SignatureTarget};
use crate::nonces::budget::NonceBudget;
use crate::nonces::{MemoryNonces, Nonce, NonceStore, NonceUse};
use crate::revocations::{MemoryRevocations, RevocationStore};
use crate::session::{from_unix_millis, unix_millis};
use crate::token::{self, FieldTooLong, OpenedToken};
use crate::{Identity, IntegrityError, Keys, Session, SessionId};

/// How long a revocation outlives its token, in milliseconds. A clock that runs ahead and is then set back must not
/// make a revoked session valid again.
const CLOCK_JUMP: u64 = 60 * 60 * 1000;

/// Whether signatures are bound to one use by a timestamp and a nonce. `SPEC §7.9`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// Timestamps and nonces are ignored.
    Off,
    /// A signature may be bound to one use.
    #[default]
    Accept,
    /// Every signature must be bound to one use.
    Require,
}

/// Issues tokens and verifies requests.
///
/// A request is verified in three steps: [`Gate::open_token`] checks the MAC of its token, [`Gate::check`] checks that
/// the session has neither expired nor been revoked, and [`Gate::verify`] verifies its signature. [`Gate::open`]
/// combines the first two.
pub struct Gate {
    keys: Keys,
    lifetime: u64,
    binding: Binding,
    window: u64,
    revocations: Arc<dyn RevocationStore>,
    nonces: Arc<dyn NonceStore>,
    budget: NonceBudget,
}

impl Gate {
    /// The default number of nonces that are kept for one session.
    pub const NONCES_PER_SESSION: usize = NonceBudget::PER_SESSION;

    /// Creates a gate with the defaults of the protocol: tokens are valid for 15 minutes, bound signatures are accepted
    /// within 60 seconds of their timestamp, and revocations and nonces are kept in memory.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            lifetime: 15 * 60 * 1000,
            binding: Binding::default(),
            window: 60 * 1000,
            revocations: Arc::new(MemoryRevocations::default()),
            nonces: Arc::new(MemoryNonces::default()),
            budget: NonceBudget::new(NonceBudget::PER_SESSION, NonceBudget::CAPACITY),
        }
    }

    /// Sets how long tokens are valid.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = millis(lifetime);
        self
    }

    /// Sets whether signatures are bound to one use.
    #[must_use]
    pub fn binding(mut self, binding: Binding) -> Self {
        self.binding = binding;
        self
    }

    /// Returns whether every signature must be bound to one use.
    pub fn requires_binding(&self) -> bool {
        self.binding == Binding::Require
    }

    /// Sets how far the timestamp of a bound signature may be from the server's clock.
    #[must_use]
    pub fn replay_window(mut self, window: Duration) -> Self {
        self.window = millis(window);
        self
    }

    /// Sets the store of revoked sessions.
    #[must_use]
    pub fn revocations(mut self, store: Arc<dyn RevocationStore>) -> Self {
        self.revocations = store;
        self
    }

    /// Sets the store of used nonces.
    #[must_use]
    pub fn nonces(mut self, store: Arc<dyn NonceStore>) -> Self {
        self.nonces = store;
        self
    }

    /// Sets how many nonces are kept for one session at a time. A nonce is kept until the timestamp of its signature
    /// has left the replay window. A session that needs more nonces is refused. This gate counts the nonces that it has
    /// accepted, in any store. It accepts about a million in total: an account with a hundred or more is refused while
    /// it holds as many as are left for all other accounts.
    #[must_use]
    pub fn nonces_per_session(mut self, nonces: usize) -> Self {
        self.budget = NonceBudget::new(nonces, NonceBudget::CAPACITY);
        self
    }

    /// Begins a session with `session_id` as its id, which must be 16 random bytes.
    ///
    /// # Errors
    /// [`FieldTooLong`] if the identity does not fit into a token.
    pub fn login(
        &self,
        identity: &Identity,
        session_id: [u8; 16],
        now: SystemTime,
    ) -> Result<IssuedSession, FieldTooLong> {
        self.login_until(identity, session_id, now, None)
    }

    /// Begins a session like [`Gate::login`] that ends no later than `end`: the expiry of the credential that proved
    /// the identity.
    ///
    /// # Errors
    /// [`FieldTooLong`] if the identity does not fit into a token.
    pub fn login_until(
        &self,
        identity: &Identity,
        session_id: [u8; 16],
        now: SystemTime,
        end: Option<SystemTime>,
    ) -> Result<IssuedSession, FieldTooLong> {
        let expiry = unix_millis(now).saturating_add(self.lifetime);
        let session = Session {
            user: identity.user.clone(),
            session: SessionId(session_id),
            role: identity.role.clone(),
            tenant: identity.tenant.clone(),
            claims: identity.claims.clone(),
            expires_at: from_unix_millis(end.map_or(expiry, |end| expiry.min(unix_millis(end)))),
        };
        let token = token::seal(&self.keys, &session)?;
        let signing_token = token::signing_token(&self.keys, &token);
        Ok(IssuedSession { token, signing_token, session, extra: identity.extra.clone() })
    }

    /// Checks the MAC of a token and decodes it.
    ///
    /// The result depends only on the token's bytes and on the keys of this gate, so a caller may cache it under the
    /// whole token for as long as it uses this gate. The result does not imply that the session is still valid; see
    /// [`Gate::check`].
    ///
    /// # Errors
    /// [`IntegrityError::TokenMissing`] or [`IntegrityError::TokenInvalid`].
    pub fn open_token(&self, token: Option<&[u8]>) -> Result<OpenedToken, IntegrityError> {
        let token = token.ok_or(IntegrityError::TokenMissing)?;
        let token = std::str::from_utf8(token).map_err(|_| IntegrityError::TokenInvalid)?;
        token::open(&self.keys, token)
    }

    /// Opens a token and checks its session.
    ///
    /// # Errors
    /// The errors of [`Gate::open_token`] and [`Gate::check`].
    pub async fn open(&self, token: Option<&[u8]>, now: SystemTime) -> Result<OpenedToken, IntegrityError> {
        let opened = self.open_token(token)?;
        self.check(opened.session(), now).await?;
        Ok(opened)
    }

    /// Checks that a session has neither expired nor been revoked.
    ///
    /// # Errors
    /// [`IntegrityError::TokenExpired`], [`IntegrityError::TokenRevoked`], or [`IntegrityError::Unavailable`] if the
    /// store of revocations fails.
    pub async fn check(&self, session: &Session, now: SystemTime) -> Result<(), IntegrityError> {
        if session.expires_at <= now {
            return Err(IntegrityError::TokenExpired);
        }
        let revoked = self.revocations.is_revoked(session.session, unix_millis(now)).await?;
        if revoked { Err(IntegrityError::TokenRevoked) } else { Ok(()) }
    }

    /// Verifies that the session of a token signed `message`.
    ///
    /// # Errors
    /// [`IntegrityError::SignatureMissing`], [`IntegrityError::SignatureInvalid`], [`IntegrityError::Replayed`],
    /// [`IntegrityError::Binding`], [`IntegrityError::TooManyNonces`], or [`IntegrityError::Unavailable`] if the store of
    /// nonces fails.
    pub async fn verify(
        &self,
        token: &OpenedToken,
        message: &Message<'_>,
        headers: &SignatureHeaders<'_>,
        target: &SignatureTarget<'_>,
        now: SystemTime,
    ) -> Result<(), IntegrityError> {
        self.verify_with(self.binding, token, message, headers, target, now).await
    }

    /// Verifies that the session of a token signed `message`, and that the signature is bound to one use. With
    /// [`Binding::Off`] no signature is bound, and this method is equivalent to [`Gate::verify`].
    ///
    /// # Errors
    /// The errors of [`Gate::verify`]; [`IntegrityError::SignatureMissing`] if the signature is not bound.
    pub async fn verify_bound(
        &self,
        token: &OpenedToken,
        message: &Message<'_>,
        headers: &SignatureHeaders<'_>,
        target: &SignatureTarget<'_>,
        now: SystemTime,
    ) -> Result<(), IntegrityError> {
        let binding = if self.binding == Binding::Off { Binding::Off } else { Binding::Require };
        self.verify_with(binding, token, message, headers, target, now).await
    }

    /// Ends the session of a token. The token suffices; if a signature is sent, it must sign the empty message.
    /// `SPEC §7.5`
    ///
    /// # Errors
    /// The errors of [`Gate::check`] and [`Gate::verify`].
    pub async fn logout(
        &self,
        token: &OpenedToken,
        headers: &SignatureHeaders<'_>,
        target: &SignatureTarget<'_>,
        now: SystemTime,
    ) -> Result<(), IntegrityError> {
        let session = token.session();
        self.check(session, now).await?;
        if headers.signature.is_some() {
            // A replayed logout has no effect, so its signature need not be bound.
            let binding = if self.binding == Binding::Off { Binding::Off } else { Binding::Accept };
            self.verify_with(binding, token, &Message::new(b""), headers, target, now).await?;
        }
        let until = unix_millis(session.expires_at).saturating_add(CLOCK_JUMP);
        Ok(self.revocations.revoke(session.session, until, unix_millis(now)).await?)
    }

    async fn verify_with(
        &self,
        binding: Binding,
        token: &OpenedToken,
        message: &Message<'_>,
        headers: &SignatureHeaders<'_>,
        target: &SignatureTarget<'_>,
        now: SystemTime,
    ) -> Result<(), IntegrityError> {
        let signature = headers.signature.ok_or(IntegrityError::SignatureMissing { unbound: false })?;
        let bound = Bound::parse(binding, headers)?;
        let signed = match &bound {
            None => message.bytes(),
            Some(bound) => message.bound(target, bound.timestamp, bound.nonce.as_bytes()).into(),
        };
        if !token.key.verify(&signed, signature) {
            return Err(IntegrityError::SignatureInvalid);
        }
        let Some(bound) = bound else { return Ok(()) };
        let now = unix_millis(now);
        // Checked after the signature, so that only requests of the session take space in the nonce store.
        if bound.time.abs_diff(now) > self.window {
            return Err(IntegrityError::Replayed(ReplayReason::Late));
        }
        let until = bound.time.saturating_add(self.window).saturating_add(1);
        let session = token.session();
        self.budget.reserve(session, until, now).map_err(|free| IntegrityError::TooManyNonces {
            retry_after: Duration::from_millis(free.saturating_sub(now)),
        })?;
        let nonce = Nonce { session: session.session, text: bound.nonce, time: bound.time, until };
        let remembered = self.nonces.remember(nonce, now).await;
        if !matches!(remembered, Ok(NonceUse::New)) {
            self.budget.release(session, until);
        }
        match remembered? {
            NonceUse::New => Ok(()),
            NonceUse::Used => Err(IntegrityError::Replayed(ReplayReason::Repeated)),
            NonceUse::Unknown => Err(IntegrityError::Replayed(ReplayReason::Unknown)),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("keys", &self.keys)
            .field("binding", &self.binding)
            .finish_non_exhaustive()
    }
}

/// The result of a login.
#[derive(Clone)]
pub struct IssuedSession {
    /// The token that requests carry.
    pub token: String,
    /// The key that requests are signed with. It is sent in the reply to the login only.
    pub signing_token: String,
    /// The new session.
    pub session: Session,
    /// Members that are added to the reply to the login.
    pub extra: Map<String, Value>,
}

impl IssuedSession {
    /// Returns the JSON text of the reply to the login. `SPEC §7.1`
    pub fn to_json(&self) -> String {
        let mut reply = self.extra.clone();
        reply.insert("signingToken".to_owned(), self.signing_token.clone().into());
        reply.insert("token".to_owned(), self.token.clone().into());
        reply.insert("expiresAt".to_owned(), unix_millis(self.session.expires_at).into());
        Value::Object(reply).to_string()
    }
}

/// Shows the session only, because the tokens are secret.
impl fmt::Debug for IssuedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedSession").field("session", &self.session).finish_non_exhaustive()
    }
}

/// The headers of a request that carry its signature.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignatureHeaders<'a> {
    /// `X-Mesh-Signature`.
    pub signature: Option<&'a [u8]>,
    /// `X-Mesh-Timestamp`.
    pub timestamp: Option<&'a [u8]>,
    /// `X-Mesh-Nonce`.
    pub nonce: Option<&'a [u8]>,
}

/// The well-formed timestamp and nonce of a bound signature.
struct Bound<'a> {
    timestamp: &'a [u8],
    /// The timestamp in milliseconds.
    time: u64,
    nonce: &'a str,
}

impl<'a> Bound<'a> {
    fn parse(binding: Binding, headers: &SignatureHeaders<'a>) -> Result<Option<Self>, IntegrityError> {
        let fault = |fault| Err(IntegrityError::Binding(fault));
        let (timestamp, nonce) = match (binding, headers.timestamp, headers.nonce) {
            (Binding::Off, ..) | (Binding::Accept, None, None) => return Ok(None),
            (Binding::Require, None, None) => {
                return Err(IntegrityError::SignatureMissing { unbound: true });
            }
            (_, None, Some(_)) => return fault(BindingFault::TimestampMissing),
            (_, Some(_), None) => return fault(BindingFault::NonceMissing),
            (_, Some(timestamp), Some(nonce)) => (timestamp, nonce),
        };
        let Some(time) = seconds(timestamp) else { return fault(BindingFault::Timestamp) };
        let is_base64url = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match std::str::from_utf8(nonce) {
            Ok(nonce) if (16..=64).contains(&nonce.len()) && nonce.as_bytes().iter().all(is_base64url) => {
                Ok(Some(Self { timestamp, time: time.saturating_mul(1000), nonce }))
            }
            _ => fault(BindingFault::Nonce),
        }
    }
}

/// Parses 1 to 15 decimal digits.
fn seconds(text: &[u8]) -> Option<u64> {
    let digits = (1..=15).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests;
