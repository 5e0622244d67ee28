//! Is that the password? Checked with argon2id, at the same cost whether the account exists or not.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Params, Version};
use mesh_integrity::{
    AccountError, AccountSource, Authenticator, BoxFuture, Credentials, Identity, LoginError,
};
use serde_json::Value;
use tokio::sync::Semaphore;

/// Names under which a login may be sent; the first one is asked for where there is none. `SPEC §7.1`
const LOGIN: [&str; 3] = ["login", "email", "username"];
/// Passwords that are checked at a time: each takes a core, and memory of tens of megabytes.
const AT_ONCE: usize = 4;
/// Logins that wait for their turn; more are refused.
const WAITING: usize = 64;

/// The hash of a password, as a table of accounts holds it: argon2id with the parameters that are current
/// advice, and fresh salt.
///
/// # Errors
/// When the system has no randomness to give.
pub fn hash_password(password: &str) -> Result<String, HashError> {
    hash(&Argon2::default(), password)
}

fn hash(argon2: &Argon2<'_>, password: &str) -> Result<String, HashError> {
    let hash: PasswordHash = argon2.hash_password(password.as_bytes()).map_err(HashError)?;
    Ok(hash.to_string())
}

/// A password could not be hashed.
#[derive(Debug)]
pub struct HashError(argon2::password_hash::Error);

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the password cannot be hashed: {}", self.0)
    }
}

impl std::error::Error for HashError {}

/// The reference server's logins: `{login, password}` against a table of accounts. `email` and `username`
/// stand for `login` too.
#[derive(Clone)]
pub struct Accounts {
    source: Arc<dyn AccountSource>,
    /// What passwords for unknown accounts are held against. No password is known to have it.
    decoy: Arc<str>,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Accounts {
    /// Logins over a source of accounts. What is checked for unknown accounts costs as much as the hash of
    /// some account of the source.
    ///
    /// # Errors
    /// When the source cannot be read, or the system has no randomness to give.
    pub async fn new(source: impl AccountSource) -> Result<Self, AccountError> {
        let sample = source.any_hash().await?;
        let params = sample.as_deref().and_then(usable).and_then(|hash| Params::try_from(&hash).ok());
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.unwrap_or_default());
        let decoy = hash(&argon2, "")?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            source: Arc::new(source),
            decoy: decoy.into(),
            running: Arc::new(Semaphore::new(cores.min(AT_ONCE))),
            waiting: Arc::new(Semaphore::new(WAITING)),
        })
    }

    async fn check(&self, login: &str, password: &str) -> Result<Identity, LoginError> {
        let account = self.source.find(login).await.map_err(LoginError::Failed)?;
        let known = account.as_ref().and_then(|account| account.hash.as_deref());
        let own: Option<Arc<str>> = known.filter(|hash| usable(hash).is_some()).map(Arc::from);
        if let (Some(account), Some(_), None) = (&account, known, &own) {
            tracing::warn!(
                user = account.id,
                "the account's password is no argon2id hash: nobody can log in"
            );
        }
        // A match with the decoy means nothing.
        let can_match = own.is_some();
        let matches = self.verify(own.unwrap_or_else(|| Arc::clone(&self.decoy)), password).await?;
        match account.filter(|_| matches && can_match) {
            Some(account) => {
                Ok(Identity { role: account.role, tenant: account.tenant, ..Identity::new(account.id) })
            }
            None => Err(LoginError::Wrong),
        }
    }

    /// Hashes on a thread of its own, a few at a time.
    async fn verify(&self, hash: Arc<str>, password: &str) -> Result<bool, LoginError> {
        let waiting = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| LoginError::Busy)?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| LoginError::Busy)?;
        drop(waiting);
        let password = password.to_owned();
        let checking = tokio::task::spawn_blocking(move || {
            let matches = PasswordHash::new(&hash)
                .map(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
            // Also when the client has gone away, the place is free only when the work is done.
            drop(running);
            matches.unwrap_or(false)
        });
        checking.await.map_err(LoginError::new)
    }
}

/// The hash, if it is one of argon2id.
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

    fn account<'a>(&self, credentials: &'a Credentials) -> Option<Cow<'a, str>> {
        login(credentials).map(Cow::Borrowed)
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
    use mesh_integrity::Account;

    /// Two accounts with a password, one without, one with another kind of hash.
    struct Table(Vec<(&'static str, Option<String>)>);

    impl AccountSource for Table {
        fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
            let found = self.0.iter().position(|(name, _)| *name == login);
            let account = found.map(|index| Account {
                id: index.to_string(),
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

    /// Hashes at the least cost, so that tests are quick.
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
    async fn right_and_wrong_passwords() {
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
    async fn what_is_missing_is_named() {
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

    /// The decoy costs what the table's hashes cost.
    #[tokio::test]
    async fn unknown_accounts_take_the_same_work() {
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
    async fn a_crowd_is_refused() {
        let accounts = accounts().await;
        let held = accounts.waiting.clone().try_acquire_many_owned(u32::try_from(WAITING).unwrap()).unwrap();
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
