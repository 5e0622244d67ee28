//! May this request pass? The one place that decides, in two steps: first the token, then the signature.

mod recent;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{BindingFault, Replay};
use crate::message::{Aim, Message};
use crate::replay::{MemoryNonces, NonceStore};
use crate::revocation::{MemoryRevocations, RevocationStore};
use crate::token::{self, FieldTooLong};
use crate::{Identity, IntegrityError, Keys, Session, SessionId, signature};
use recent::{Known, Recent};

/// How long an ended session is remembered after its token has expired: a clock that runs ahead and is set back
/// must not bring it to life again.
const CLOCK_JUMP: u64 = 60 * 60 * 1000;

/// What is done about timestamp and nonce. `SPEC §7.9`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// They mean nothing.
    Off,
    /// A signature may be bound to one use.
    #[default]
    Accept,
    /// Every signature must be.
    Require,
}

/// Gives out tokens and holds requests against them. All times are milliseconds since the Unix epoch.
pub struct Gate {
    keys: Keys,
    lifetime: u64,
    binding: Binding,
    window: u64,
    revocations: Arc<dyn RevocationStore>,
    nonces: Arc<dyn NonceStore>,
    recent: Recent,
}

impl Gate {
    /// A gate with the protocol's settings: tokens of 15 minutes, bound signatures accepted within 60
    /// seconds, and stores in memory.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            lifetime: 15 * 60 * 1000,
            binding: Binding::default(),
            window: 60 * 1000,
            revocations: Arc::new(MemoryRevocations::default()),
            nonces: Arc::new(MemoryNonces::default()),
            recent: Recent::default(),
        }
    }

    /// Sets how long tokens live.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = millis(lifetime);
        self
    }

    /// Sets what is done about timestamp and nonce.
    #[must_use]
    pub fn binding(mut self, binding: Binding) -> Self {
        self.binding = binding;
        self
    }

    /// Sets how far a bound signature's timestamp may be from the server's clock.
    #[must_use]
    pub fn replay_window(mut self, window: Duration) -> Self {
        self.window = millis(window);
        self
    }

    /// Sets where ended sessions are remembered.
    #[must_use]
    pub fn revocations(mut self, store: Arc<dyn RevocationStore>) -> Self {
        self.revocations = store;
        self
    }

    /// Sets where nonces are remembered.
    #[must_use]
    pub fn nonces(mut self, store: Arc<dyn NonceStore>) -> Self {
        self.nonces = store;
        self
    }

    /// Begins a session. The fresh bytes become its id: no other session of the deployment may have them.
    ///
    /// # Errors
    /// When the identity does not fit into a token.
    pub fn login(&self, identity: &Identity, fresh: [u8; 16], now: u64) -> Result<Issued, FieldTooLong> {
        let session = Session {
            user: identity.user.clone(),
            session: SessionId(fresh),
            role: identity.role.clone(),
            tenant: identity.tenant.clone(),
            expires_at: now.saturating_add(self.lifetime),
        };
        let token = token::seal(&self.keys, &session)?;
        let signing_token = token::signing_token(&self.keys, &token);
        Ok(Issued { token, signing_token, session })
    }

    /// The first step: whether the token is one of this deployment's, and its session still lives.
    ///
    /// # Errors
    /// [`IntegrityError::TokenMissing`], `TokenInvalid`, `TokenExpired`, `TokenRevoked` or `Unavailable`.
    pub async fn open(&self, token: Option<&[u8]>, now: u64) -> Result<Pending<'_>, IntegrityError> {
        let known = self.known(token)?;
        self.check(&known.session, now).await?;
        Ok(Pending { gate: self, known })
    }

    /// The same without waiting; `None` where the store of revocations has to be asked, which is not done then.
    pub fn open_at_once(
        &self,
        token: Option<&[u8]>,
        now: u64,
    ) -> Option<Result<Pending<'_>, IntegrityError>> {
        let known = match self.known(token) {
            Ok(known) => known,
            Err(error) => return Some(Err(error)),
        };
        let checked = self.check_at_once(&known.session, now)?;
        Some(checked.map(|()| Pending { gate: self, known }))
    }

    /// What a token says, where it is one of this deployment's.
    fn known(&self, token: Option<&[u8]>) -> Result<Arc<Known>, IntegrityError> {
        let token = token.ok_or(IntegrityError::TokenMissing)?;
        let token = std::str::from_utf8(token).map_err(|_| IntegrityError::TokenInvalid)?;
        self.recent.find(token, || token::open(&self.keys, token))
    }

    /// Whether a session that was admitted before still lives.
    ///
    /// # Errors
    /// [`IntegrityError::TokenExpired`], `TokenRevoked` or `Unavailable`.
    pub async fn check(&self, session: &Session, now: u64) -> Result<(), IntegrityError> {
        if let Some(checked) = self.check_at_once(session, now) {
            return checked;
        }
        let revoked = self.revocations.is_revoked(session.session, now).await?;
        if revoked { Err(IntegrityError::TokenRevoked) } else { Ok(()) }
    }

    /// The same, where the store need not be asked.
    fn check_at_once(&self, session: &Session, now: u64) -> Option<Result<(), IntegrityError>> {
        if session.expires_at <= now {
            return Some(Err(IntegrityError::TokenExpired));
        }
        let revoked = self.revocations.is_revoked_at_once(session.session, now)?;
        Some(if revoked { Err(IntegrityError::TokenRevoked) } else { Ok(()) })
    }

    /// Ends the session of a token. Holding the token is proof enough; a signature that is sent all the
    /// same must be that of the empty message. `SPEC §7.5`
    ///
    /// # Errors
    /// Those of [`Gate::open`] and [`Pending::verify`].
    pub async fn logout(
        &self,
        token: Option<&[u8]>,
        proof: &Proof<'_>,
        aim: &Aim<'_>,
        now: u64,
    ) -> Result<Arc<Session>, IntegrityError> {
        let pending = self.open(token, now).await?;
        if proof.signature.is_some() {
            // A captured logout can only end what has ended, so none has to be bound.
            let binding = if self.binding == Binding::Off { Binding::Off } else { Binding::Accept };
            pending.verify_with(binding, &Message::new(b""), proof, aim, now).await?;
        }
        let session = pending.unsigned();
        let until = session.expires_at.saturating_add(CLOCK_JUMP);
        self.revocations.revoke(session.session, until, now).await?;
        Ok(session)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("keys", &self.keys)
            .field("lifetime", &self.lifetime)
            .field("binding", &self.binding)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

/// What a login hands out.
#[derive(Clone)]
pub struct Issued {
    /// The token that requests carry.
    pub token: String,
    /// The key that requests are signed with. It never goes over the line again.
    pub signing_token: String,
    /// The session that began.
    pub session: Session,
}

/// Shows the session only: the rest is good for acting in its name.
impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("session", &self.session).finish_non_exhaustive()
    }
}

/// The headers that prove a request, as they came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proof<'a> {
    /// `X-Mesh-Signature`.
    pub signature: Option<&'a [u8]>,
    /// `X-Mesh-Timestamp`.
    pub timestamp: Option<&'a [u8]>,
    /// `X-Mesh-Nonce`.
    pub nonce: Option<&'a [u8]>,
}

/// A request whose token is good, before its signature has been looked at.
pub struct Pending<'g> {
    gate: &'g Gate,
    known: Arc<Known>,
}

impl Pending<'_> {
    /// The second step: whether the session signed that message.
    ///
    /// # Errors
    /// [`IntegrityError::SignatureMissing`], `SignatureInvalid`, `Replayed`, `Binding` or `Unavailable`.
    pub async fn verify(
        &self,
        message: &Message<'_>,
        proof: &Proof<'_>,
        aim: &Aim<'_>,
        now: u64,
    ) -> Result<Arc<Session>, IntegrityError> {
        self.verify_with(self.gate.binding, message, proof, aim, now).await?;
        Ok(Arc::clone(&self.known.session))
    }

    /// What the application makes of the session, made once and kept with the token while that is in use. It is
    /// of one type in an application; of another one it is made each time.
    pub fn keep<T: Any + Send + Sync>(&self, make: impl Fn(&Session) -> T) -> Arc<T> {
        let session = &self.known.session;
        let kept = self.known.kept.get_or_init(|| Arc::new(make(session)));
        Arc::clone(kept).downcast().unwrap_or_else(|_| Arc::new(make(session)))
    }

    /// Lets the holder of a token pass without a signature, where a surface asks for no more: it shows who
    /// asks, but not that what is asked was not altered on the way.
    pub fn unsigned(self) -> Arc<Session> {
        Arc::clone(&self.known.session)
    }

    async fn verify_with(
        &self,
        binding: Binding,
        message: &Message<'_>,
        proof: &Proof<'_>,
        aim: &Aim<'_>,
        now: u64,
    ) -> Result<(), IntegrityError> {
        let signature = proof.signature.ok_or(IntegrityError::SignatureMissing { unbound: false })?;
        let Some(bound) = Bound::read(binding, proof)? else {
            return match self.known.signed(&message.bytes(), signature) {
                true => Ok(()),
                false => Err(IntegrityError::SignatureInvalid),
            };
        };
        let bytes = message.bound(aim, bound.timestamp, bound.nonce.as_bytes());
        if !signature::verify(&self.known.key, &bytes, signature) {
            return Err(IntegrityError::SignatureInvalid);
        }
        // Only what the session really signed is held against the clock, or takes room in the store.
        let window = self.gate.window;
        if bound.time.abs_diff(now) > window {
            return Err(IntegrityError::Replayed(Replay::Late));
        }
        let until = bound.time.saturating_add(window).saturating_add(1);
        match self.gate.nonces.remember(self.known.session.session, bound.nonce, until, now).await? {
            true => Ok(()),
            false => Err(IntegrityError::Replayed(Replay::Repeated)),
        }
    }
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("session", &self.known.session).finish_non_exhaustive()
    }
}

/// Timestamp and nonce of a bound signature, well formed.
struct Bound<'a> {
    timestamp: &'a [u8],
    /// The timestamp in milliseconds.
    time: u64,
    nonce: &'a str,
}

impl<'a> Bound<'a> {
    fn read(binding: Binding, proof: &Proof<'a>) -> Result<Option<Self>, IntegrityError> {
        let fault = |fault| Err(IntegrityError::Binding(fault));
        let (timestamp, nonce) = match (binding, proof.timestamp, proof.nonce) {
            (Binding::Off, ..) | (Binding::Accept, None, None) => return Ok(None),
            (Binding::Require, None, None) => {
                return Err(IntegrityError::SignatureMissing { unbound: true });
            }
            (_, None, Some(_)) => return fault(BindingFault::TimestampMissing),
            (_, Some(_), None) => return fault(BindingFault::NonceMissing),
            (_, Some(timestamp), Some(nonce)) => (timestamp, nonce),
        };
        let Some(time) = seconds(timestamp) else { return fault(BindingFault::Timestamp) };
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match std::str::from_utf8(nonce) {
            Ok(nonce) if (16..=64).contains(&nonce.len()) && nonce.as_bytes().iter().all(plain) => {
                Ok(Some(Self { timestamp, time: time.saturating_mul(1000), nonce }))
            }
            _ => fault(BindingFault::Nonce),
        }
    }
}

/// Digits and nothing else, and not so many that they could mean no time.
fn seconds(text: &[u8]) -> Option<u64> {
    let digits = (1..=15).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests;
