//! Accounts in a database table, which back ends look up.

pub(crate) mod api_keys;
#[cfg(feature = "accounts")]
pub mod passwords;

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

impl UsersTable {
    /// Checks the names against `columns`, the columns of the table, which are empty if the table does not exist.
    /// `is_column` compares a column of the table with a name.
    ///
    /// # Errors
    /// [`TableLayoutError`] if the table or some of its columns are missing.
    pub fn check(
        &self,
        columns: &[String],
        is_column: impl Fn(&str, &str) -> bool,
    ) -> Result<(), TableLayoutError> {
        let table = &self.table;
        if columns.is_empty() {
            let fault = format!("there is no table '{table}' of accounts");
            return Err(TableLayoutError { faults: vec![fault] });
        }
        let names = [
            ("id", Some(&self.id)),
            ("login", Some(&self.login)),
            ("password", Some(&self.password)),
            ("role", self.role.as_ref()),
            ("tenant", self.tenant.as_ref()),
        ];
        let missing = names.into_iter().filter_map(|(purpose, name)| Some((purpose, name?)));
        let missing = missing.filter(|(_, name)| !columns.iter().any(|column| is_column(column, name)));
        let fault = |(purpose, name)| {
            format!("the table '{table}' of accounts has no column '{name}' for the {purpose}")
        };
        TableLayoutError::check(missing.map(fault).collect())
    }
}

/// The faults of a table of accounts or API keys that does not exist or lacks columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", faults.join("; "))]
pub struct TableLayoutError {
    /// The faults, at least one.
    pub faults: Vec<String>,
}

impl TableLayoutError {
    /// Turns the faults of a table into an error.
    ///
    /// # Errors
    /// [`TableLayoutError`] unless `faults` is empty.
    pub fn check(faults: Vec<String>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self { faults }) }
    }
}

impl From<String> for TableLayoutError {
    fn from(fault: String) -> Self {
        Self { faults: vec![fault] }
    }
}

/// One account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's id.
    pub id: String,
    /// The login name as it is stored, which may be spelled differently from the one that was looked up.
    pub login: String,
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

/// An error of an [`AccountSource`]. [`AccountsUnavailable`] is temporary.
pub type AccountError = Box<dyn Error + Send + Sync>;

/// A temporary failure: the accounts are unreachable or the back end is overloaded, so the login may succeed later.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the accounts cannot be reached")]
pub struct AccountsUnavailable;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_column_is_a_fault() {
        let name = str::to_owned;
        let table = UsersTable {
            table: name("users"),
            id: name("id"),
            login: name("Email"),
            password: name("hash"),
            role: Some(name("role")),
            tenant: None,
        };
        let check = |columns: &[&str]| {
            let columns: Vec<String> = columns.iter().copied().map(name).collect();
            table
                .check(&columns, |column, name| column.eq_ignore_ascii_case(name))
                .map_err(|error| error.faults)
        };
        assert_eq!(check(&["id", "email", "hash", "role", "more"]), Ok(()));
        assert_eq!(check(&[]), Err(vec![name("there is no table 'users' of accounts")]));
        assert_eq!(
            check(&["id", "hash"]),
            Err(vec![
                name("the table 'users' of accounts has no column 'Email' for the login"),
                name("the table 'users' of accounts has no column 'role' for the role"),
            ])
        );
    }
}
