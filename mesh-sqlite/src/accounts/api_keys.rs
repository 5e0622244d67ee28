//! API keys in a table of the served database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mesh_integrity::{
    ApiKeyHash, ApiKeySource, ApiKeysTableError, BoxFuture, StoreError, StoredApiKey, check_api_key_columns,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, params};
use sea_query::{ColumnDef, Expr, ExprTrait as _, Query, SqliteQueryBuilder, Table};

use crate::database::Database;
use crate::pool::connect;

/// The time limit for waiting for a writer in another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Expiry numbers above this value are milliseconds; others are seconds.
const MAX_SECONDS: i64 = 100_000_000_000;

/// The API keys of a SQLite database.
///
/// Hashes are hex digits or 32 bytes. Expiry times are text that SQLite's date functions read, in UTC unless the text
/// states otherwise, or seconds or milliseconds since 1970.
#[derive(Clone)]
pub struct ApiKeys {
    path: PathBuf,
    table: String,
}

impl Database {
    /// Returns the API keys stored in a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the file cannot be read.
    pub fn api_keys(&self, table: &str) -> Result<ApiKeys, ApiKeysTableError> {
        let path = self.path();
        let columns = open(&path).and_then(|connection| columns(&connection, table));
        let columns = columns.map_err(|error| ApiKeysTableError::from(error.to_string()))?;
        let create = format!("{};", create_table(table));
        check_api_key_columns(table, &columns, str::eq_ignore_ascii_case, &create)?;
        Ok(ApiKeys { path, table: table.to_owned() })
    }

    /// Creates a table of API keys unless a table with this name exists.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn create_api_keys_table(&self, table: &str) -> Result<(), StoreError> {
        let (path, sql) = (self.path(), create_table(table));
        run(move || open_for_writing(&path)?.execute_batch(&sql)).await
    }
}

/// Returns the statement that creates a table of API keys.
fn create_table(table: &str) -> String {
    let text = |name: &'static str| ColumnDef::new(name).text().take();
    Table::create()
        .table(table.to_owned())
        .if_not_exists()
        .col(text("hash").not_null().primary_key())
        .col(text("owner"))
        .col(text("role"))
        .col(text("expires"))
        .to_string(SqliteQueryBuilder)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn open_for_writing(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Returns the names of a table's columns; empty if there is no such table.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

/// Runs work on a thread that may block, because the table may be large and have no index on its hashes.
async fn run<T: Send + 'static>(
    work: impl FnOnce() -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await.map_err(StoreError::new)?;
    done.map_err(StoreError::new)
}

/// Returns a qualified column, because SQLite reads an unqualified quoted name that is not a column as text.
fn column(name: &'static str) -> Expr {
    Expr::col(("k", name))
}

/// Returns the condition that a column equals the hash, given as hex digits of either case or as bytes.
fn is_hash(hash: Expr) -> Expr {
    hash.is_in(["?1", "?2", "?3"].map(Expr::cust))
}

impl ApiKeys {
    /// Returns the statement that selects keys.
    fn select(&self, condition: Option<Expr>) -> String {
        let mut select = Query::select();
        let time = Expr::cust_with_expr("unixepoch(?)", column("expires"));
        select.exprs(["hash", "owner", "role", "expires"].map(column)).expr(time);
        select.from_as(self.table.clone(), "k");
        if let Some(condition) = condition {
            select.and_where(condition).limit(2);
        }
        select.to_string(SqliteQueryBuilder)
    }

    /// Returns all keys with a well-formed hash, and the number of malformed keys.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn list(&self) -> Result<(Vec<StoredApiKey>, usize), StoreError> {
        let (path, sql) = (self.path.clone(), self.select(None));
        let rows: Vec<Option<StoredApiKey>> = run(move || {
            let connection = open(&path)?;
            let mut statement = connection.prepare(&sql)?;
            statement.query_map([], stored)?.collect()
        })
        .await?;
        let count = rows.len();
        let keys: Vec<StoredApiKey> = rows.into_iter().flatten().collect();
        let malformed = count - keys.len();
        Ok((keys, malformed))
    }

    /// Stores a key.
    ///
    /// # Errors
    /// The file cannot be written, or the table does not accept the values.
    pub async fn insert(&self, key: &StoredApiKey) -> Result<(), StoreError> {
        let time = Expr::cust("strftime('%Y-%m-%dT%H:%M:%SZ', ?4, 'unixepoch')");
        let values = ["?1", "?2", "?3"].map(Expr::cust).into_iter().chain([time]);
        let sql = Query::insert()
            .into_table(self.table.clone())
            .columns(["hash", "owner", "role", "expires"])
            .values_panic(values)
            .to_string(SqliteQueryBuilder);
        let (path, key) = (self.path.clone(), key.clone());
        run(move || {
            let seconds =
                key.expires.map(|time| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
            let seconds = seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
            let values = params![key.hash.to_string(), key.owner, key.role, seconds];
            open_for_writing(&path)?.execute(&sql, values).map(drop)
        })
        .await
    }

    /// Deletes a key. Returns whether there was one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn delete(&self, hash: ApiKeyHash) -> Result<bool, StoreError> {
        let sql = Query::delete()
            .from_table(self.table.clone())
            .and_where(is_hash(Expr::col((self.table.clone(), "hash"))))
            .to_string(SqliteQueryBuilder);
        let path = self.path.clone();
        let deleted = run(move || {
            let [lower, upper] = hex_forms(hash);
            open_for_writing(&path)?.execute(&sql, params![lower, upper, hash.0])
        });
        Ok(deleted.await? > 0)
    }
}

impl ApiKeySource for ApiKeys {
    fn find(&self, hash: ApiKeyHash) -> BoxFuture<'_, Result<Option<StoredApiKey>, StoreError>> {
        Box::pin(async move {
            let (path, sql) = (self.path.clone(), self.select(Some(is_hash(column("hash")))));
            let mut found: Vec<Option<StoredApiKey>> = run(move || {
                let connection = open(&path)?;
                let mut statement = connection.prepare(&sql)?;
                let [lower, upper] = hex_forms(hash);
                statement.query_map(params![lower, upper, hash.0], stored)?.collect()
            })
            .await?;
            if found.len() > 1 {
                tracing::warn!("two API keys have the hash {}…, so neither can be used", hash.id());
                return Ok(None);
            }
            Ok(found.pop().flatten())
        })
    }
}

/// Returns the hex digits of a hash in both cases.
fn hex_forms(hash: ApiKeyHash) -> [String; 2] {
    let digits = hash.to_string();
    let upper = digits.to_ascii_uppercase();
    [digits, upper]
}

/// Reads a row; `None` if its hash is malformed.
fn stored(row: &Row<'_>) -> rusqlite::Result<Option<StoredApiKey>> {
    let hash = match row.get_ref(0)? {
        ValueRef::Text(digits) => std::str::from_utf8(digits).ok().and_then(ApiKeyHash::parse),
        ValueRef::Blob(bytes) => bytes.try_into().ok().map(ApiKeyHash),
        _ => None,
    };
    let Some(hash) = hash else { return Ok(None) };
    let expires = match row.get_ref(3)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) if number > MAX_SECONDS => Some(time(number / 1_000)),
        ValueRef::Integer(seconds) => Some(time(seconds)),
        ValueRef::Real(seconds) => Some(time(seconds as i64)),
        // A key whose time cannot be read has expired.
        ValueRef::Text(_) | ValueRef::Blob(_) => {
            Some(time(row.get::<_, Option<i64>>(4)?.unwrap_or_default()))
        }
    };
    Ok(Some(StoredApiKey { hash, owner: text(row.get_ref(1)?), role: text(row.get_ref(2)?), expires }))
}

/// Returns the time that is `seconds` after 1970. Returns the epoch for an earlier time, or for one that the system
/// cannot represent.
fn time(seconds: i64) -> SystemTime {
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string()),
        ValueRef::Real(value) => Some(value.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys").field("table", &self.table).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
