//! API keys in a table of the database.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mesh_integrity::{
    ApiKeyHash, ApiKeySource, ApiKeysTableError, BoxFuture, StoreError, StoredApiKey, check_api_key_columns,
};
use mesh_plan::Value;
use mysql_async::Row;
use sea_query::{ColumnDef, Condition, Expr, ExprTrait as _, MysqlQueryBuilder, Query, Table};

use crate::cells::{integer, optional_text, value};
use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::pool::row_budget::RowBudget;
use crate::pool::{Pool, PoolError};

/// The accepted types of the columns of hashes and times.
const TEXT_TYPES: [&str; 5] = ["char", "varchar", "tinytext", "text", "longtext"];
const BYTES_TYPES: [&str; 2] = ["binary", "varbinary"];
const TIME_TYPES: [&str; 3] = ["timestamp", "datetime", "date"];

/// The API keys of a database.
///
/// Hashes are hex digits in a text column or 32 bytes in a column of bytes. Times without a zone are in UTC.
#[derive(Clone)]
pub struct ApiKeys {
    reads: Arc<Pool>,
    writes: Arc<Pool>,
    table: String,
    /// Whether hashes are bytes.
    is_bytes: bool,
}

impl Database {
    /// Returns the API keys stored in a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing or have the wrong type ([`OpenError::faults`]), or the database cannot be
    /// reached.
    pub async fn api_keys(&self, table: &str) -> Result<ApiKeys, OpenError> {
        self.open_api_keys(table).await.map_err(|error| self.open_error(error))
    }

    async fn open_api_keys(&self, name: &str) -> Result<ApiKeys, BoxError> {
        let columns = self.columns(name).await?;
        let names: Vec<String> = columns.iter().map(|(column, _)| column.clone()).collect();
        let create = format!("{};", create_table(name));
        check_api_key_columns(name, &names, str::eq_ignore_ascii_case, &create)?;
        let type_of = |name: &str| {
            let found = columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(name));
            found.map_or("", |(_, ty)| ty.as_str())
        };
        let (hash, expires) = (type_of("hash"), type_of("expires"));
        let mut faults = Vec::new();
        let mut wrong = |column: &str, ty: &str, needed: &str| {
            faults.push(format!(
                "the column '{column}' of the table '{name}' of 'api_keys.table' has the type {ty}; it must be {needed}"
            ));
        };
        if !BYTES_TYPES.contains(&hash) && !TEXT_TYPES.contains(&hash) {
            wrong("hash", hash, "text or binary(32)");
        }
        if !TIME_TYPES.contains(&expires) {
            wrong("expires", expires, "timestamp, datetime or date");
        }
        ApiKeysTableError::check(faults, &create)?;
        Ok(ApiKeys {
            reads: Arc::clone(&self.pool),
            writes: Arc::clone(&self.writes),
            is_bytes: BYTES_TYPES.contains(&hash),
            table: name.to_owned(),
        })
    }

    /// Creates a table of API keys unless a table with this name exists.
    ///
    /// # Errors
    /// The database cannot be reached, or the account may not create the table.
    pub async fn create_api_keys_table(&self, table: &str) -> Result<(), OpenError> {
        let creating = async {
            let mut link = self.writes.take(false).await?;
            link.execute(&create_table(table)).await.map_err(PoolError::Failed)
        };
        creating.await.map_err(|error: PoolError| self.open_error(error))
    }
}

/// Returns the statement that creates a table of API keys.
fn create_table(table: &str) -> String {
    Table::create()
        .table(table.to_owned())
        .if_not_exists()
        .col(ColumnDef::new("hash").char_len(64).not_null().primary_key())
        .col(ColumnDef::new("owner").text())
        .col(ColumnDef::new("role").text())
        .col(ColumnDef::new("expires").date_time())
        .to_string(MysqlQueryBuilder)
}

fn column(name: &'static str) -> Expr {
    Expr::col(("k", name))
}

impl ApiKeys {
    /// Returns the statement that selects keys, with expiry times as seconds since the Unix epoch.
    fn select(&self, condition: Option<Condition>) -> String {
        let expires = Expr::cust_with_exprs(
            "TIMESTAMPDIFF(SECOND, ?, ?)",
            [Expr::Constant("1970-01-01 00:00:00".into()), column("expires")],
        );
        let mut select = Query::select();
        select.expr(column("hash")).exprs(["owner", "role"].map(|name| column(name).cast_as("CHAR")));
        select.expr(expires).from_as(self.table.clone(), "k");
        if let Some(condition) = condition {
            select.cond_where(condition).limit(2);
        }
        select.to_string(MysqlQueryBuilder)
    }

    /// Returns the condition that the column equals a hash, and its parameters.
    fn is_hash(&self, hash: ApiKeyHash) -> (Condition, Vec<Value>) {
        let equals = || Expr::col("hash").eq(Expr::cust("?"));
        if self.is_bytes {
            return (Condition::any().add(equals()), vec![Value::Bytes(hash.0.to_vec())]);
        }
        let digits = hash.to_string();
        let upper = digits.to_ascii_uppercase();
        (Condition::any().add(equals()).add(equals()), vec![digits.into(), upper.into()])
    }

    async fn read(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.reads.run(sql, params, RowBudget::UNLIMITED).await.map_err(StoreError::new)
    }

    /// Runs a statement once. It is not repeated if the connection is lost. Returns the number of rows that it found.
    async fn write(&self, sql: &str, params: &[Value]) -> Result<u64, StoreError> {
        let mut link = self.writes.take(false).await.map_err(StoreError::new)?;
        let written = link.write(sql, params).await;
        Ok(written.map_err(|error| StoreError::new(PoolError::Failed(error)))?.count)
    }

    /// Reads a row; `None` if its hash is malformed.
    fn stored(&self, row: &Row) -> Option<StoredApiKey> {
        let hash = match value(row, 0) {
            Value::Bytes(bytes) => bytes.as_slice().try_into().ok().map(ApiKeyHash),
            Value::Text(digits) => ApiKeyHash::parse(digits.trim_end()),
            _ => None,
        };
        let expires = integer(row, 3)
            .map(|seconds| UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
        Some(StoredApiKey { hash: hash?, owner: optional_text(row, 1), role: optional_text(row, 2), expires })
    }

    /// Returns all keys with a well-formed hash, and the number of malformed keys.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn list(&self) -> Result<(Vec<StoredApiKey>, usize), StoreError> {
        let rows = self.read(&self.select(None), &[]).await?;
        let keys: Vec<StoredApiKey> = rows.iter().filter_map(|row| self.stored(row)).collect();
        let malformed = rows.len() - keys.len();
        Ok((keys, malformed))
    }

    /// Stores a key.
    ///
    /// # Errors
    /// The database cannot be reached, or the table does not accept the values.
    pub async fn insert(&self, key: &StoredApiKey) -> Result<(), StoreError> {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let seconds = key.expires.map(|time| i64::try_from(since(time)).unwrap_or(i64::MAX));
        let expires = Expr::cust_with_exprs(
            "? + INTERVAL ? SECOND",
            [Expr::Constant("1970-01-01 00:00:00".into()), Expr::cust("?")],
        );
        let insert = Query::insert()
            .into_table(self.table.clone())
            .columns(["hash", "owner", "role", "expires"])
            .values_panic([Expr::cust("?"), Expr::cust("?"), Expr::cust("?"), expires])
            .to_string(MysqlQueryBuilder);
        let hash = match self.is_bytes {
            true => Value::Bytes(key.hash.0.to_vec()),
            false => key.hash.to_string().into(),
        };
        let params = [hash, key.owner.clone().into(), key.role.clone().into(), seconds.into()];
        self.write(&insert, &params).await.map(drop)
    }

    /// Deletes a key. Returns whether there was one.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn delete(&self, hash: ApiKeyHash) -> Result<bool, StoreError> {
        let (condition, params) = self.is_hash(hash);
        let delete =
            Query::delete().from_table(self.table.clone()).cond_where(condition).to_string(MysqlQueryBuilder);
        Ok(self.write(&delete, &params).await? > 0)
    }
}

impl ApiKeySource for ApiKeys {
    fn find(&self, hash: ApiKeyHash) -> BoxFuture<'_, Result<Option<StoredApiKey>, StoreError>> {
        Box::pin(async move {
            let (condition, params) = self.is_hash(hash);
            let rows = self.read(&self.select(Some(condition)), &params).await?;
            match rows.as_slice() {
                [row] => Ok(self.stored(row)),
                [] => Ok(None),
                _ => {
                    tracing::warn!("two API keys have the hash {}…, so neither can be used", hash.id());
                    Ok(None)
                }
            }
        })
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys").field("table", &self.table).finish_non_exhaustive()
    }
}
