//! Logins with argon2id hashes. A login costs the same whether or not the account exists.

use std::fmt;
use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Params, Version};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::{AccountError, AccountSource, Authenticator, BoxFuture, Credentials, Identity, LoginError};

/// Members of the credentials that may contain the login name; errors mention the first. `SPEC §7.1`
const LOGIN: [&str; 3] = ["login", "email", "username"];
/// The maximum number of passwords that are checked at a time. Each check takes a core and tens of megabytes of memory.
const MAX_RUNNING: usize = 4;
/// The maximum number of logins that wait to be checked; more are refused.
const MAX_WAITING: usize = 64;

/// Hashes a password for a table of accounts: argon2id with recommended parameters and a random salt.
///
/// # Errors
/// The system provides no random numbers.
pub fn hash_password(password: &str) -> Result<String, HashError> {
    hash(&Argon2::default(), password)
}

fn hash(argon2: &Argon2<'_>, password: &str) -> Result<String, HashError> {
    let hash: PasswordHash = argon2.hash_password(password.as_bytes()).map_err(HashError)?;
    Ok(hash.to_string())
}

/// The error of a password that cannot be hashed.
#[derive(Debug)]
pub struct HashError(argon2::password_hash::Error);

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the password cannot be hashed: {}", self.0)
    }
}

impl std::error::Error for HashError {}

/// An authenticator that checks `{login, password}` against a table of accounts. `email` and `username` are accepted in
/// place of `login`.
#[derive(Clone)]
pub struct Accounts {
    source: Arc<dyn AccountSource>,
    /// The hash that passwords for unknown accounts are compared with.
    decoy: Arc<str>,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Accounts {
    /// Creates an authenticator for the accounts of a source. A login for an unknown account costs as much as checking
    /// a hash from the source.
    ///
    /// # Errors
    /// The source cannot be read, or the system provides no random numbers.
    pub async fn new(source: impl AccountSource) -> Result<Self, AccountError> {
        let sample = source.any_hash().await?;
        let params = sample.as_deref().and_then(usable).and_then(|hash| Params::try_from(&hash).ok());
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.unwrap_or_default());
        let decoy = hash(&argon2, "")?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            source: Arc::new(source),
            decoy: decoy.into(),
            running: Arc::new(Semaphore::new(cores.min(MAX_RUNNING))),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
        })
    }

    async fn check(&self, login: &str, password: &str) -> Result<Identity, LoginError> {
        let account = self.source.find(login).await.map_err(LoginError::of_accounts)?;
        let known = account.as_ref().and_then(|account| account.hash.as_deref());
        let usable_hash: Option<Arc<str>> = known.filter(|hash| usable(hash).is_some()).map(Arc::from);
        if let (Some(account), Some(_), None) = (&account, known, &usable_hash) {
            tracing::warn!(
                user = account.id,
                "the password of the account is not an argon2id hash, so logins fail"
            );
        }
        // A match with the decoy is not a login.
        let can_match = usable_hash.is_some();
        let matches = self.verify(usable_hash.unwrap_or_else(|| Arc::clone(&self.decoy)), password).await?;
        match account.filter(|_| matches && can_match) {
            Some(account) => {
                Ok(Identity { role: account.role, tenant: account.tenant, ..Identity::new(account.id) })
            }
            None => Err(LoginError::Wrong),
        }
    }

    /// Checks a password on a blocking thread, a few at a time.
    async fn verify(&self, hash: Arc<str>, password: &str) -> Result<bool, LoginError> {
        let waiting = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| LoginError::Busy)?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| LoginError::Busy)?;
        drop(waiting);
        let password = password.to_owned();
        let checking = tokio::task::spawn_blocking(move || {
            let matches = PasswordHash::new(&hash)
                .map(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
            // The permit is released when the work is done, even if the client has disconnected.
            drop(running);
            matches.unwrap_or(false)
        });
        checking.await.map_err(LoginError::new)
    }
}

/// Returns the hash if it is an argon2id hash.
fn usable(text: &str) -> Option<PasswordHash> {
    PasswordHash::new(text).ok().filter(|hash| hash.algorithm == ARGON2ID_IDENT && hash.hash.is_some())
}

fn login(credentials: &Credentials) -> Option<&str> {
    LOGIN.iter().find_map(|name| credentials.get(*name)).and_then(Value::as_str)
}

impl Authenticator for Accounts {
    fn authenticate<'a>(
        &'a self,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async move {
            let login = login(credentials).ok_or(LoginError::Missing { field: "login" })?;
            let password = credentials.get("password").and_then(Value::as_str);
            let password = password.ok_or(LoginError::Missing { field: "password" })?;
            self.check(login, password).await
        })
    }

    /// Returns the login name of the account, or the login that was sent if there is no such account, in lower case and
    /// without surrounding spaces. An existing account, under any spelling, and an unknown account are then refused
    /// after the same number of attempts.
    fn account<'a>(
        &'a self,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<Option<String>, LoginError>> {
        Box::pin(async move {
            let Some(login) = login(credentials) else { return Ok(None) };
            let found = self.source.find(login).await.map_err(LoginError::of_accounts)?;
            let name = found.as_ref().map_or(login, |account| &account.login);
            Ok(Some(name.trim().to_lowercase()))
        })
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Accounts(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;
    use crate::Account;

    /// Two accounts with a password, one without, one with another kind of hash.
    struct Table(Vec<(&'static str, Option<String>)>);

    impl AccountSource for Table {
        fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
            let found = self.0.iter().position(|(name, _)| *name == login);
            let account = found.map(|index| Account {
                id: index.to_string(),
                login: login.to_owned(),
                hash: self.0[index].1.clone(),
                role: Some("editor".to_owned()),
                tenant: None,
            });
            Box::pin(async move { Ok(account) })
        }

        fn any_hash(&self) -> BoxFuture<'_, Result<Option<String>, AccountError>> {
            Box::pin(async { Ok(self.0.iter().find_map(|(_, hash)| hash.clone())) })
        }
    }

    /// Hashes with the lowest cost, so that tests are fast.
    fn cheap(password: &str) -> Option<String> {
        let params = Params::new(16, 2, 1, None).unwrap();
        Some(hash(&Argon2::new(Algorithm::Argon2id, Version::V0x13, params), password).unwrap())
    }

    async fn accounts() -> Accounts {
        let foreign = Some("$2b$12$abcdefghijklmnopqrstuv".to_owned());
        let table = vec![("ada", cheap("pw")), ("bo", cheap("")), ("cy", None), ("di", foreign)];
        Accounts::new(Table(table)).await.unwrap()
    }

    async fn login(accounts: &Accounts, credentials: Value) -> Result<String, String> {
        let Value::Object(credentials) = credentials else { panic!("an object") };
        let identity = accounts.authenticate(&credentials).await;
        identity.map(|it| format!("{} {:?}", it.user, it.role)).map_err(|error| format!("{error:?}"))
    }

    #[tokio::test]
    async fn right_passwords_log_in_and_wrong_ones_do_not() {
        let accounts = accounts().await;
        for name in LOGIN {
            let found = login(&accounts, json!({ name: "ada", "password": "pw" })).await;
            assert_eq!(found.as_deref(), Ok("0 Some(\"editor\")"));
        }
        let empty = login(&accounts, json!({"login": "bo", "password": ""})).await;
        assert!(empty.is_ok(), "an empty password is one if the account has it");
        for (who, password) in [("ada", "PW"), ("ada", ""), ("nobody", ""), ("cy", ""), ("di", ""), ("", "")]
        {
            let refused = login(&accounts, json!({"login": who, "password": password})).await;
            assert_eq!(refused, Err("Wrong".to_owned()), "{who}");
        }
    }

    #[tokio::test]
    async fn missing_fields_are_named() {
        let accounts = accounts().await;
        for (credentials, field) in [
            (json!({}), "login"),
            (json!({"login": 7, "password": "pw"}), "login"),
            (json!({"login": "ada"}), "password"),
            (json!({"login": "ada", "password": null}), "password"),
        ] {
            assert_eq!(login(&accounts, credentials).await, Err(format!("Missing {{ field: {field:?} }}")));
        }
    }

    /// The decoy has the parameters of the table's hashes.
    #[tokio::test]
    async fn unknown_accounts_take_as_much_work() {
        let accounts = accounts().await;
        let params = |text: &str| Params::try_from(&PasswordHash::new(text).unwrap()).unwrap();
        let (decoy, own) = (params(&accounts.decoy), params(&cheap("pw").unwrap()));
        assert_eq!(
            (decoy.m_cost(), decoy.t_cost(), decoy.p_cost()),
            (own.m_cost(), own.t_cost(), own.p_cost())
        );
        let default = Accounts::new(Table(Vec::new())).await.unwrap();
        assert_eq!(params(&default.decoy).m_cost(), Params::DEFAULT_M_COST);
        let start = Instant::now();
        assert_eq!(login(&default, json!({"login": "x", "password": "y"})).await, Err("Wrong".to_owned()));
        assert!(start.elapsed().as_millis() >= 5, "it hashed although there is no such account");
    }

    #[tokio::test]
    async fn logins_beyond_the_queue_are_refused() {
        let accounts = accounts().await;
        let held =
            accounts.waiting.clone().try_acquire_many_owned(u32::try_from(MAX_WAITING).unwrap()).unwrap();
        assert_eq!(login(&accounts, json!({"login": "ada", "password": "pw"})).await, Err("Busy".to_owned()));
        drop(held);
        assert!(login(&accounts, json!({"login": "ada", "password": "pw"})).await.is_ok());
    }

    #[test]
    fn hashes_are_salted() {
        let (one, two) = (hash_password("pw").unwrap(), hash_password("pw").unwrap());
        assert!(one.starts_with("$argon2id$v=19$") && one != two && usable(&one).is_some());
    }
}
