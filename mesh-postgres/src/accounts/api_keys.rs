//! API keys in a table of the database.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use mesh_integrity::{
    ApiKeyHash, ApiKeySource, ApiKeysTableError, BoxFuture, StoreError, StoredApiKey, check_api_key_columns,
};
use mesh_schema::TableName;
use sea_query::{
    ColumnDef, Condition, Expr, ExprTrait as _, InsertStatement, PostgresQueryBuilder, Query, Table,
};
use tokio_postgres::Row;

use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::pool::{Pool, PoolError};
use crate::sql::{self, TextParam};

/// The accepted types of the columns of hashes and times.
const TEXT_TYPES: [&str; 3] = ["text", "varchar", "bpchar"];
const BYTES_TYPE: &str = "bytea";
const TIME_TYPES: [&str; 3] = ["timestamptz", "timestamp", "date"];

/// The API keys of a PostgreSQL database. They are read from the primary, because a replica may have a key that has just
/// been revoked.
///
/// Hashes are hex digits in a text column or 32 bytes in a `bytea` column. Times without a zone are in UTC.
#[derive(Clone)]
pub struct ApiKeys {
    reads: Arc<Pool>,
    writes: Arc<Pool>,
    table: TableName,
    /// Whether hashes are bytes.
    is_bytes: bool,
    /// Whether expiry times are dates.
    is_date: bool,
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
        let table = self.find_table(TableName::parse(name)?).await?;
        let columns = self.column_types(&table).await?;
        let names: Vec<String> = columns.iter().map(|(column, _)| column.clone()).collect();
        let create = format!("{};", create_table(&table));
        check_api_key_columns(name, &names, |column, name| column == name, &create)?;
        let type_of = |name: &str| {
            let found = columns.iter().find(|(column, _)| column == name);
            found.map_or("", |(_, ty)| ty.as_str())
        };
        let (hash, expires) = (type_of("hash"), type_of("expires"));
        let mut faults = Vec::new();
        let mut wrong = |column: &str, ty: &str, needed: &str| {
            faults.push(format!(
                "the column '{column}' of the table '{name}' of 'api_keys.table' has the type {ty}; it must be {needed}"
            ));
        };
        if hash != BYTES_TYPE && !TEXT_TYPES.contains(&hash) {
            wrong("hash", hash, "text or bytea");
        }
        if !TIME_TYPES.contains(&expires) {
            wrong("expires", expires, "timestamptz, timestamp or date");
        }
        ApiKeysTableError::check(faults, &create)?;
        Ok(ApiKeys {
            reads: Arc::clone(&self.pool),
            writes: Arc::clone(&self.writes),
            is_bytes: hash == BYTES_TYPE,
            is_date: expires == "date",
            table,
        })
    }

    /// Creates a table of API keys unless a table with this name exists.
    ///
    /// # Errors
    /// The database cannot be reached, or the account may not create the table.
    pub async fn create_api_keys_table(&self, table: &str) -> Result<(), OpenError> {
        let table = TableName::parse(table).map_err(|error| self.open_error(error))?;
        let table = sql::qualified(&table, self.default_schema());
        let created = self.writes.execute(&create_table(&table)).await;
        created.map_err(|error| self.open_error(error))
    }

    /// Returns the names and types of a table's columns; empty if there is no such table.
    async fn column_types(&self, table: &TableName) -> Result<Vec<(String, String)>, PoolError> {
        const COLUMNS: &str = "SELECT a.attname::text, t.typname::text FROM pg_catalog.pg_attribute AS a \
            JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
            WHERE a.attrelid = pg_catalog.to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped";
        let table = sql::table(table);
        let rows = self.pool.take(false).await?.query_once(COLUMNS, &[TextParam::text(&table)]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}

/// Returns the statement that creates a table of API keys.
fn create_table(table: &TableName) -> String {
    let text = |name: &'static str| ColumnDef::new(name).text().take();
    Table::create()
        .table(sql::table_ref(table))
        .if_not_exists()
        .col(text("hash").not_null().primary_key())
        .col(text("owner"))
        .col(text("role"))
        .col(ColumnDef::new("expires").timestamp_with_time_zone())
        .to_string(PostgresQueryBuilder)
}

fn column(name: &'static str) -> Expr {
    Expr::col(("k", name))
}

impl ApiKeys {
    /// Returns the statement that selects keys.
    fn select(&self, condition: Option<Condition>) -> String {
        let expires = column("expires");
        // A date is the start of its day in UTC.
        let expires = if self.is_date { expires.cast_as("timestamp") } else { expires };
        let mut select = Query::select();
        select.expr(column("hash")).exprs(["owner", "role"].map(|name| column(name).cast_as("text")));
        select.expr(expires).from_as(sql::table_ref(&self.table), "k");
        if let Some(condition) = condition {
            select.cond_where(condition).limit(2);
        }
        select.to_string(PostgresQueryBuilder)
    }

    /// Returns the condition that the column equals a hash, and its parameters.
    fn is_hash(&self, hash: ApiKeyHash) -> (Condition, Vec<TextParam<'static>>) {
        let equals = |param: &'static str| {
            Expr::cust_with_exprs("$1 OPERATOR(pg_catalog.=) $2", [Expr::col("hash"), Expr::cust(param)])
        };
        if self.is_bytes {
            return (Condition::any().add(equals("$1")), vec![TextParam::bytes(&hash.0)]);
        }
        let digits = hash.to_string();
        let upper = digits.to_ascii_uppercase();
        let params = [digits, upper].map(|digits| TextParam(Some(digits.into())));
        (Condition::any().add(equals("$1")).add(equals("$2")), params.into())
    }

    /// Reads within the time limit of statements, which the database cannot enforce on a lost connection.
    async fn read(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, StoreError> {
        let run = tokio::time::timeout(self.reads.statement_timeout(), self.reads.run(sql, params)).await;
        run.unwrap_or(Err(PoolError::TimedOut)).map_err(StoreError::new)
    }

    /// Runs a statement once. It is not repeated if the connection is lost.
    async fn write(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, StoreError> {
        let link = self.writes.take(false).await.map_err(StoreError::new)?;
        link.query_once(sql, params).await.map_err(|error| StoreError::new(PoolError::Failed(error)))
    }

    /// Reads a row; `None` if its hash is malformed.
    fn stored(&self, row: &Row) -> Option<StoredApiKey> {
        let hash = if self.is_bytes {
            row.get::<_, Option<&[u8]>>(0).and_then(|bytes| bytes.try_into().ok()).map(ApiKeyHash)
        } else {
            row.get::<_, Option<&str>>(0).and_then(|digits| ApiKeyHash::parse(digits.trim_end()))
        };
        let expires: Option<SystemTime> = row.get(3);
        let expires = expires.map(|time| time.max(UNIX_EPOCH));
        Some(StoredApiKey { hash: hash?, owner: row.get(1), role: row.get(2), expires })
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
        let timestamp = |time| Timestamp::from_second(i64::try_from(since(time)).unwrap_or(i64::MAX));
        let expires =
            key.expires.map(timestamp).transpose().map_err(|error| StoreError::new(error.to_string()))?;
        let insert: InsertStatement = Query::insert()
            .into_table(sql::table_ref(&self.table))
            .columns(["hash", "owner", "role", "expires"])
            .values_panic(["$1", "$2", "$3", "$4"].map(Expr::cust))
            .take();
        let text = |text: &Option<String>| TextParam(text.clone().map(Into::into));
        let hash = match self.is_bytes {
            true => TextParam::bytes(&key.hash.0),
            false => TextParam(Some(key.hash.to_string().into())),
        };
        let expires = TextParam(expires.map(|time| time.to_string().into()));
        let params = [hash, text(&key.owner), text(&key.role), expires];
        self.write(&insert.to_string(PostgresQueryBuilder), &params).await.map(drop)
    }

    /// Deletes a key. Returns whether there was one.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn delete(&self, hash: ApiKeyHash) -> Result<bool, StoreError> {
        let (condition, params) = self.is_hash(hash);
        let delete = Query::delete()
            .from_table(sql::table_ref(&self.table))
            .cond_where(condition)
            .returning_col("hash")
            .to_string(PostgresQueryBuilder);
        Ok(!self.write(&delete, &params).await?.is_empty())
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
