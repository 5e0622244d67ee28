//! Accounts in a table of the served database.

pub(crate) mod api_keys;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_integrity::{Account, AccountError, AccountSource, BoxFuture, UsersTable, UsersTableError};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use sea_query::{BinOper, Expr, ExprTrait as _, Query, SqliteQueryBuilder};

use crate::database::Database;
use crate::pool::connect;

/// The time limit for waiting for a writer in another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pattern of password hashes.
const ARGON2_HASHES: &str = "$argon2id$%";

/// The accounts of a SQLite database.
pub struct Accounts {
    path: PathBuf,
    find: String,
    any: String,
}

impl Database {
    /// Returns the accounts stored in a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing.
    pub fn accounts(&self, users: &UsersTable) -> Result<Accounts, UsersTableError> {
        let path = self.path();
        let columns = open(&path).and_then(|connection| columns(&connection, &users.table));
        let columns = columns.map_err(|error| UsersTableError::from(error.to_string()))?;
        users.check(&columns, str::eq_ignore_ascii_case)?;
        // Columns are qualified, because SQLite reads an unqualified quoted name that is not a column as text.
        let column = |name: &str| Expr::col(("u", name.to_owned()));
        let or_null = |name: &Option<String>| name.as_deref().map_or_else(|| Expr::cust("NULL"), column);
        let select = |role: Expr, tenant: Expr, condition: Expr, limit: u64| {
            Query::select()
                .exprs([column(&users.id), column(&users.login), column(&users.password), role, tenant])
                .from_as(users.table.clone(), "u")
                .and_where(condition)
                .limit(limit)
                .to_string(SqliteQueryBuilder)
        };
        let is_login = column(&users.login).eq(Expr::cust("?1"));
        let is_hash = column(&users.password).binary(BinOper::Like, Expr::cust("?1"));
        Ok(Accounts {
            path,
            find: select(or_null(&users.role), or_null(&users.tenant), is_login, 2),
            any: select(or_null(&None), or_null(&None), is_hash, 1),
        })
    }
}

/// Opens the file that is currently at the path. Opening it takes a thousandth of the time of hashing a password.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Returns the names of a table's columns; empty if there is no such table.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

impl Accounts {
    /// Reads on a thread that may block, because the table may be large and have no index on its logins.
    async fn read(&self, sql: &str, param: &str) -> Result<Vec<Account>, AccountError> {
        let (path, sql, param) = (self.path.clone(), sql.to_owned(), param.to_owned());
        let reading = tokio::task::spawn_blocking(move || {
            let connection = open(&path)?;
            let mut statement = connection.prepare(&sql)?;
            statement.query_map([param], account)?.collect::<rusqlite::Result<_>>()
        });
        Ok(reading.await??)
    }
}

fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
    Ok(Account {
        id: text(row.get_ref(0)?).unwrap_or_default(),
        login: text(row.get_ref(1)?).unwrap_or_default(),
        hash: text(row.get_ref(2)?),
        role: text(row.get_ref(3)?),
        tenant: text(row.get_ref(4)?),
    })
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string()),
        ValueRef::Real(value) => Some(value.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

impl AccountSource for Accounts {
    fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
        Box::pin(async move {
            let mut found = self.read(&self.find, login).await?;
            if found.len() > 1 {
                tracing::warn!("two accounts have the same login, so neither can be used");
                return Ok(None);
            }
            Ok(found.pop().filter(|account| !account.id.is_empty()))
        })
    }

    fn any_hash(&self) -> BoxFuture<'_, Result<Option<String>, AccountError>> {
        Box::pin(async {
            Ok(self.read(&self.any, ARGON2_HASHES).await?.pop().and_then(|account| account.hash))
        })
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").field("find", &self.find).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
