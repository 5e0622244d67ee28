//! Accounts in a table of the served database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mesh_integrity::BoxFuture;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row};

use crate::database::Database;
use crate::file::FileId;
use mesh_integrity::{Account, AccountError, AccountSource, UsersTable};

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The accounts of a SQLite database.
pub struct Accounts {
    /// One connection is enough: hashing takes a thousand times as long as a lookup.
    place: Arc<Mutex<Place>>,
    find: String,
    any: String,
}

/// An open file with accounts.
struct Place {
    path: PathBuf,
    id: Option<FileId>,
    connection: Connection,
}

impl Place {
    fn open(path: PathBuf) -> rusqlite::Result<Self> {
        let id = FileId::of(&path);
        let connection = connect(&path)?;
        Ok(Self { path, id, connection })
    }

    /// Returns a connection to the file that is at the path now. Accounts of an earlier file no longer count.
    fn connection(&mut self) -> rusqlite::Result<&Connection> {
        let there = FileId::of(&self.path);
        if there.is_none() || there != self.id {
            *self = Self::open(self.path.clone())?;
        }
        Ok(&self.connection)
    }
}

impl Database {
    /// Returns the accounts of a table.
    ///
    /// # Errors
    /// The table or one of its columns is missing.
    pub fn accounts(&self, users: &UsersTable) -> Result<Accounts, UsersTableError> {
        let failed = |error: rusqlite::Error| UsersTableError(error.to_string());
        let place = Place::open(self.path()).map_err(failed)?;
        let columns = columns(&place.connection, &users.table).map_err(failed)?;
        if columns.is_empty() {
            let table = &users.table;
            return Err(UsersTableError(format!("there is no table '{table}' for 'integrity.users.table'")));
        }
        let own = [("id", &users.id), ("login", &users.login), ("password", &users.password)];
        let optional = [("role", users.role.as_ref()), ("tenant", users.tenant.as_ref())];
        let optional = optional.into_iter().filter_map(|(setting, column)| Some((setting, column?)));
        for (setting, column) in own.into_iter().chain(optional) {
            if !columns.iter().any(|known| known.eq_ignore_ascii_case(column)) {
                return Err(UsersTableError(format!(
                    "the table '{}' has no column '{column}' for 'integrity.users.{setting}'",
                    users.table
                )));
            }
        }
        // Columns are qualified: SQLite reads a quoted name alone that is not a column as text.
        let column = |name: &str| format!("u.{}", quoted(name));
        let or_null = |name: &Option<String>| name.as_deref().map_or_else(|| "NULL".to_owned(), column);
        let (id, password, login) = (column(&users.id), column(&users.password), column(&users.login));
        let (role, tenant, table) = (or_null(&users.role), or_null(&users.tenant), quoted(&users.table));
        Ok(Accounts {
            place: Arc::new(Mutex::new(place)),
            find: format!(
                "SELECT {id}, {password}, {role}, {tenant} FROM {table} AS u WHERE {login} = ?1 LIMIT 2"
            ),
            any: format!(
                "SELECT {id}, {password}, NULL, NULL FROM {table} AS u WHERE {password} LIKE '$argon2id$%' LIMIT 1"
            ),
        })
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// Returns the names of a table's columns; empty if there is no such table.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The table of accounts does not match the settings.
#[derive(Debug)]
pub struct UsersTableError(String);

impl fmt::Display for UsersTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsersTableError {}

impl Accounts {
    /// Reads on a thread that may block: the table may be large, without an index on its logins.
    async fn read(&self, sql: &str, login: Option<&str>) -> Result<Vec<Account>, AccountError> {
        let (place, sql) = (Arc::clone(&self.place), sql.to_owned());
        let login = login.map(str::to_owned);
        let reading = tokio::task::spawn_blocking(move || {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            find(place.connection()?, &sql, login.as_deref())
        });
        Ok(reading.await??)
    }
}

fn find(connection: &Connection, sql: &str, login: Option<&str>) -> rusqlite::Result<Vec<Account>> {
    let mut statement = connection.prepare_cached(sql)?;
    match login {
        Some(login) => statement.query_map([login], account)?.collect(),
        None => statement.query_row([], account).optional().map(Vec::from_iter),
    }
}

fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
    let id = text(row.get_ref(0)?).unwrap_or_default();
    Ok(Account {
        id,
        hash: text(row.get_ref(1)?),
        role: text(row.get_ref(2)?),
        tenant: text(row.get_ref(3)?),
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
            let mut found = self.read(&self.find, Some(login)).await?;
            if found.len() > 1 {
                tracing::warn!("two accounts have the same login, so neither can be used");
                return Ok(None);
            }
            Ok(found.pop().filter(|account| !account.id.is_empty()))
        })
    }

    fn any_hash(&self) -> BoxFuture<'_, Result<Option<String>, AccountError>> {
        Box::pin(async { Ok(self.read(&self.any, None).await?.pop().and_then(|account| account.hash)) })
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").field("find", &self.find).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
