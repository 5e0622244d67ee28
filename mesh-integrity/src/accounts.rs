//! Whose password is this? Accounts in a table, with argon2id hashes.

#[cfg(feature = "accounts")]
mod passwords;
mod share;

use std::error::Error;

use mesh_integrity::BoxFuture;

#[cfg(feature = "accounts")]
pub use passwords::{Accounts, HashError, hash_password};
pub use share::{AttemptStore, Share};

/// Where accounts are: a table, and the columns that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersTable {
    /// The table, as the database calls it.
    pub table: String,
    /// What names a session's user.
    pub id: String,
    /// What is typed at a login.
    pub login: String,
    /// The argon2id hash.
    pub password: String,
    /// The role, where there are roles.
    pub role: Option<String>,
    /// The tenant, where there are tenants.
    pub tenant: Option<String>,
}

/// One account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's id.
    pub id: String,
    /// The hash; without one nobody can log in as this user.
    pub hash: Option<String>,
    /// The user's role.
    pub role: Option<String>,
    /// The user's tenant.
    pub tenant: Option<String>,
}

/// Finds accounts. Implemented by back ends.
pub trait AccountSource: Send + Sync + 'static {
    /// The one account of that login; none where there are several.
    fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>>;

    /// The hash of any account, which shows how costly hashes are here.
    fn any_hash(&self) -> BoxFuture<'_, Result<Option<String>, AccountError>>;
}

/// Why an account could not be looked up.
pub type AccountError = Box<dyn Error + Send + Sync>;
