//! Signed requests: the gate, its cache of opened tokens, and the authenticator of logins.

#[cfg(feature = "accounts")]
pub mod accounts;
pub(crate) mod login_attempts;

use std::fmt;
use std::sync::Arc;

use mesh_integrity::{AttemptStore, Authenticator, Gate, IntegrityError, OpenedToken};
use mesh_plan::Principal;
use mesh_plan::backend::Cache;

use crate::identity::principal;
use login_attempts::Attempts;

/// The maximum number of cached tokens.
const TOKENS: usize = 8_192;
/// The maximum number of bytes of cached tokens and their sessions, an estimate.
const TOKEN_BYTES: usize = 16 << 20;
/// Bytes of a session in memory beyond its texts, an estimate.
const SESSION_BYTES: usize = 1_024;

/// Settings of signed requests for an [`crate::App`]. With them, every route except login and logout needs a session.
#[derive(Clone)]
pub struct Integrity {
    pub(crate) gate: Arc<Gate>,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) attempts: Arc<Attempts>,
    /// Valid tokens that `gate` has opened, by their text. A hit saves the verification of MACs. The cache belongs to
    /// this gate, because another gate may have other keys.
    tokens: Arc<Cache<Box<[u8]>, Arc<KnownToken>>>,
}

/// An opened token and the principal of its session.
#[derive(Debug)]
pub(crate) struct KnownToken {
    pub(crate) token: OpenedToken,
    pub(crate) principal: Arc<Principal>,
}

impl Integrity {
    /// The default limit of failed logins per minute for one account from one address. `SPEC §12.6`
    pub const LOGIN_PER_MINUTE: u32 = 10;

    /// Creates the settings from a gate and an authenticator that checks credentials.
    pub fn new(gate: Gate, authenticator: impl Authenticator) -> Self {
        Self {
            gate: Arc::new(gate),
            authenticator: Arc::new(authenticator),
            attempts: Arc::new(Attempts::new(Self::LOGIN_PER_MINUTE, None)),
            tokens: Arc::new(Cache::bounded(TOKENS, TOKEN_BYTES)),
        }
    }

    /// Opens a token, or returns it from the cache. Does not check whether its session has ended.
    pub(crate) fn open_token(&self, token: Option<&[u8]>) -> Result<Arc<KnownToken>, IntegrityError> {
        if let Some(known) = token.and_then(|token| self.tokens.get(token)) {
            return Ok(known);
        }
        let opened = self.gate.open_token(token)?;
        let principal = Arc::new(principal(opened.session()));
        let known = Arc::new(KnownToken { token: opened, principal });
        if let Some(token) = token {
            // The text is kept three times: as the key, and decoded in the session and in the principal.
            let weight = SESSION_BYTES + 3 * token.len();
            self.tokens.insert(token.into(), Arc::clone(&known), weight);
        }
        Ok(known)
    }

    /// Sets the limit of failed logins per minute for one account from one address. The limits for one account from all
    /// addresses, and for all accounts from one address, are ten times as high.
    #[must_use]
    pub fn login_per_minute(mut self, attempts: u32) -> Self {
        self.attempts = Arc::new(Attempts::new(attempts, self.attempts.store.clone()));
        self
    }

    /// Sets a store of failed logins that several servers share.
    #[must_use]
    pub fn attempts(mut self, store: Arc<dyn AttemptStore>) -> Self {
        self.attempts = Arc::new(Attempts::new(self.attempts.per_minute, Some(store)));
        self
    }
}

impl fmt::Debug for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Integrity").field("gate", &self.gate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use mesh_integrity::{BoxFuture, Credentials, Identity, Keys, LoginError, Secret};

    use super::*;

    struct NoLogins;

    impl Authenticator for NoLogins {
        fn authenticate<'a>(&'a self, _: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
            Box::pin(async { Err(LoginError::Wrong) })
        }
    }

    #[test]
    fn cached_tokens_are_bounded_and_those_in_use_stay() {
        let gate = Gate::new(Keys::new(&Secret::new([1; 32]).unwrap()));
        let integrity = Integrity::new(gate, NoLogins);
        let issue = |number: usize| {
            integrity.gate.login(&Identity::new(number.to_string()), [0; 16], UNIX_EPOCH).unwrap().token
        };
        let user = |token: &str| integrity.open_token(Some(token.as_bytes())).unwrap().principal.user.clone();
        let used = issue(0);
        assert_eq!(user(&used), "0");
        for number in 1..2 * TOKENS {
            assert_eq!(user(&issue(number)), number.to_string());
            assert!(integrity.tokens.get(used.as_bytes()).is_some());
        }
        assert!(integrity.tokens.len() <= TOKENS);
    }
}
