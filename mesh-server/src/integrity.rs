//! Signed requests: the gate, its cache of opened tokens, and the authenticator of logins.

pub(crate) mod login_attempts;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use mesh_integrity::{
    AttemptStore, Authenticator, BoxFuture, Credentials, Gate, Identity, IntegrityError, IssuedSession,
    LoginError,
};
use mesh_plan::backend::Cache;
use mesh_wire::WireError;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::identity::caller::{Caller, Evidence, principal};
use crate::identity::request_parts::RequestParts;
use crate::rates::limiter::Limiter;

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
    /// The limit of failed logins per minute for one account from one address. The limits for one account from all
    /// addresses, and for all accounts from one address, are ten times as high. `SPEC §12.6`
    pub login_per_minute: u32,
    /// A store of failed logins that several servers share.
    pub attempts: Option<Arc<dyn AttemptStore>>,
    /// The failed logins of this server.
    limiter: Arc<Limiter>,
    /// Valid tokens that `gate` has opened, by their text. A hit saves the verification of MACs. The cache belongs to
    /// this gate, because another gate may have other keys.
    tokens: Arc<Cache<Box<[u8]>, Caller>>,
}

impl Integrity {
    /// The default of [`Self::login_per_minute`].
    pub const LOGIN_PER_MINUTE: u32 = 10;

    /// Creates the settings from a gate and an authenticator that checks credentials.
    pub fn new(gate: Gate, authenticator: impl Authenticator) -> Self {
        Self {
            gate: Arc::new(gate),
            authenticator: Arc::new(authenticator),
            login_per_minute: Self::LOGIN_PER_MINUTE,
            attempts: None,
            limiter: Arc::new(Limiter::new()),
            tokens: Arc::new(Cache::bounded(TOKENS, TOKEN_BYTES)),
        }
    }

    /// Opens a token, or returns it from the cache. Does not check whether its session has ended.
    pub(crate) fn open_token(&self, token: Option<&[u8]>) -> Result<Caller, IntegrityError> {
        if let Some(known) = token.and_then(|token| self.tokens.get(token)) {
            return Ok(known);
        }
        let opened = self.gate.open_token(token)?;
        let principal = principal(opened.session());
        let caller = Caller::new(Evidence::Token(opened), principal);
        if let Some(token) = token {
            // The text is kept three times: as the key, and decoded in the session and in the principal.
            let weight = SESSION_BYTES + 3 * token.len();
            self.tokens.insert(token.into(), caller.clone(), weight);
        }
        Ok(caller)
    }

    /// Checks the credentials of a login, counts a failed attempt, and begins a session.
    ///
    /// # Errors
    /// 401 if the credentials are wrong, 400 if they are incomplete, 429 after too many attempts, 500 or 503 if they cannot be
    /// checked.
    pub async fn login(
        &self,
        parts: RequestParts<'_>,
        credentials: &Credentials,
    ) -> Result<IssuedSession, WireError> {
        self.login_of(parts, credentials, |_| {}).await
    }

    /// Logs in as [`Integrity::login`] does. `record_account` gets the account that the credentials refer to, before they are
    /// checked.
    pub(crate) async fn login_of(
        &self,
        parts: RequestParts<'_>,
        credentials: &Credentials,
        record_account: impl FnOnce(Option<&str>),
    ) -> Result<IssuedSession, WireError> {
        let mut attempt = self.begin_attempt(parts.address)?;
        let account = match in_time(&parts, self.authenticator.account(credentials)).await {
            Ok(account) => account,
            Err(error) => {
                attempt.uncount().await;
                return Err(error.into());
            }
        };
        attempt.count_account(account.as_deref(), parts.head.request_id.as_str()).await?;
        record_account(account.as_deref());
        let checked = in_time(&parts, self.authenticator.authenticate(credentials)).await;
        // Only wrong credentials may be guesses.
        if !matches!(checked, Err(LoginError::Wrong)) {
            attempt.uncount().await;
        }
        self.begin_session(&parts, &checked?, None)
    }

    /// Begins a session that ends at `end` at the latest.
    pub(crate) fn begin_session(
        &self,
        parts: &RequestParts<'_>,
        identity: &Identity,
        end: Option<SystemTime>,
    ) -> Result<IssuedSession, WireError> {
        let failed = |error: &dyn fmt::Display| {
            tracing::error!(request = %parts.head.request_id, "cannot begin a session: {error}");
            WireError::internal()
        };
        let mut fresh = [0; 16];
        SystemRandom::new().fill(&mut fresh).map_err(|error| failed(&error))?;
        let issued = self.gate.login_until(identity, fresh, SystemTime::now(), end);
        let issued = issued.map_err(|error| failed(&error))?;
        tracing::debug!(request = %parts.head.request_id, user = issued.session.user, "logged in");
        Ok(issued)
    }
}

/// Runs a step of a login before the deadline, and logs the cause of a failure.
async fn in_time<T>(
    parts: &RequestParts<'_>,
    step: BoxFuture<'_, Result<T, LoginError>>,
) -> Result<T, LoginError> {
    let done = parts.before_deadline(step).await.unwrap_or(Err(LoginError::Busy));
    done.inspect_err(|error| {
        if let LoginError::Failed(cause) = error {
            tracing::error!(request = %parts.head.request_id, "{error}: {cause}");
        }
    })
}

opaque_debug!(Integrity);

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use mesh_integrity::{Keys, Secret};

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
        let user = |token: &str| {
            integrity.open_token(Some(token.as_bytes())).unwrap().session().unwrap().user.clone()
        };
        let used = issue(0);
        assert_eq!(user(&used), "0");
        for number in 1..2 * TOKENS {
            assert_eq!(user(&issue(number)), number.to_string());
            assert!(integrity.tokens.get(used.as_bytes()).is_some());
        }
        assert!(integrity.tokens.len() <= TOKENS);
    }
}
