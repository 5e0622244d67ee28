//! Signed requests: the gate, its cache of opened tokens, and the authenticator of logins.

#[cfg(feature = "accounts")]
pub mod accounts;
pub(crate) mod login_attempts;
mod opened_tokens;

use std::fmt;
use std::sync::Arc;

use mesh_integrity::{AttemptStore, Authenticator, Gate, IntegrityError};

use login_attempts::Attempts;
pub(crate) use opened_tokens::KnownToken;
use opened_tokens::OpenedTokens;

/// Signed requests for an [`crate::App`]: with it, every route but login and logout needs a session.
#[derive(Clone)]
pub struct Integrity {
    pub(crate) gate: Arc<Gate>,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) attempts: Arc<Attempts>,
    /// Tokens that `gate` has opened. Another gate may have other keys, so the cache belongs to this one.
    tokens: Arc<OpenedTokens>,
}

impl Integrity {
    /// The default limit of failed logins per minute for one account from one address. `SPEC §12.6`
    pub const LOGIN_PER_MINUTE: u32 = 10;

    /// Creates signed requests from a gate, and an authenticator that checks credentials.
    pub fn new(gate: Gate, authenticator: impl Authenticator) -> Self {
        Self {
            gate: Arc::new(gate),
            authenticator: Arc::new(authenticator),
            attempts: Arc::new(Attempts::new(Self::LOGIN_PER_MINUTE, None)),
            tokens: Arc::new(OpenedTokens::new()),
        }
    }

    /// Opens a token, or returns it from the cache. Does not check whether its session has ended.
    pub(crate) fn open_token(&self, token: Option<&[u8]>) -> Result<Arc<KnownToken>, IntegrityError> {
        if let Some(known) = token.and_then(|token| self.tokens.get(token)) {
            return Ok(known);
        }
        let known = Arc::new(KnownToken::new(self.gate.open_token(token)?));
        if let Some(token) = token {
            self.tokens.insert(token, Arc::clone(&known));
        }
        Ok(known)
    }

    /// Sets the limit of failed logins per minute for one account from one address. The limits for one account from all
    /// addresses, and for all accounts from one address, are ten times as high.
    #[must_use]
    pub fn login_per_minute(mut self, attempts: u32) -> Self {
        self.attempts = Arc::new(Attempts::new(attempts, self.attempts.store().cloned()));
        self
    }

    /// Sets a store of failed logins that several servers share.
    #[must_use]
    pub fn attempts(mut self, store: Arc<dyn AttemptStore>) -> Self {
        self.attempts = Arc::new(Attempts::new(self.attempts.per_minute(), Some(store)));
        self
    }
}

impl fmt::Debug for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Integrity").field("gate", &self.gate).finish_non_exhaustive()
    }
}
