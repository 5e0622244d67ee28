//! Accounts in a database table, as back ends look them up.

use std::error::Error;

use crate::BoxFuture;

/// The names of a table of accounts and of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersTable {
    /// The table.
    pub table: String,
    /// The column of the user's id.
    pub id: String,
    /// The column of the login name.
    pub login: String,
    /// The column of the password's argon2id hash.
    pub password: String,
    /// The column of the role, if there is one.
    pub role: Option<String>,
    /// The column of the tenant, if there is one.
    pub tenant: Option<String>,
}

/// One account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's id.
    pub id: String,
    /// The password's hash. An account without one cannot log in.
    pub hash: Option<String>,
    /// The user's role.
    pub role: Option<String>,
    /// The user's tenant.
    pub tenant: Option<String>,
}

/// Finds accounts. Implemented by back ends.
pub trait AccountSource: Send + Sync + 'static {
    /// Returns the account with that login name, or `None` if there is none or more than one.
    ///
    /// # Errors
    /// The database cannot be read.
    fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>>;

    /// Returns the hash of any account. Its parameters show how expensive the hashes of this table are.
    ///
    /// # Errors
    /// The database cannot be read.
    fn any_hash(&self) -> BoxFuture<'_, Result<Option<String>, AccountError>>;
}

/// An error of an [`AccountSource`].
pub type AccountError = Box<dyn Error + Send + Sync>;
