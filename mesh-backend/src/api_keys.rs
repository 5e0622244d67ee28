//! API keys in a table of the served database.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use mesh_integrity::{
    API_KEY_COLUMNS, ApiKeyHash, ApiKeySource, BoxFuture, StoreError, StoredApiKey, TableLayoutError,
    check_api_key_columns, check_api_key_faults,
};
use mesh_plan::Value;

use crate::own_table::{ApiKeyDialect, OwnTable};
use crate::tables::{TableError, Tables, text};

/// What a column of hashes contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HashColumn {
    /// Hex digits of either case.
    Digits,
    /// Bytes.
    Bytes,
    /// Both.
    Any,
}

/// The API keys of a database.
///
/// Hashes are hex digits or 32 bytes. Times without a zone are in UTC.
#[derive(Clone)]
pub struct ApiKeys {
    reads: Arc<dyn Tables>,
    writes: Arc<dyn Tables>,
    hashes: HashColumn,
    list: String,
    find: String,
    insert: String,
    delete: String,
}

impl ApiKeys {
    /// Opens a table, whose columns are [`API_KEY_COLUMNS`].
    ///
    /// # Errors
    /// The table or some of its columns are missing or have the wrong type.
    pub fn open(table: OwnTable) -> Result<Self, TableLayoutError> {
        let hashes = check(&table)?;
        let OwnTable { quoted, reads, writes, dialect, .. } = table;
        let ApiKeyDialect { selected, equals, params, .. } = dialect.api_keys;
        let values = params.join(", ");
        let hash = params.iter().take(hashes.params(ApiKeyHash([0; 32])).len());
        let is_hash = hash.map(|param| format!("hash {equals} {param}")).collect::<Vec<_>>().join(" OR ");
        let list = format!("SELECT {selected} FROM {quoted}");
        Ok(Self {
            reads,
            writes,
            hashes,
            find: format!("{list} WHERE {is_hash} LIMIT 2"),
            insert: format!("INSERT INTO {quoted} ({}) VALUES ({values})", API_KEY_COLUMNS.join(", ")),
            delete: format!("DELETE FROM {quoted} WHERE {is_hash} RETURNING hash"),
            list,
        })
    }

    /// Returns all keys with a well-formed hash, and the number of malformed keys.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn list(&self) -> Result<(Vec<StoredApiKey>, usize), StoreError> {
        let rows = self.reads.read(&self.list, &[]).await.map_err(StoreError::new)?;
        let keys: Vec<StoredApiKey> = rows.iter().filter_map(|row| stored(row)).collect();
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
        let expires = expires.map(|time| time.to_string());
        let hash = match self.hashes {
            HashColumn::Bytes => Value::Bytes(key.hash.0.to_vec()),
            HashColumn::Digits | HashColumn::Any => key.hash.to_string().into(),
        };
        let params = vec![hash, key.owner.clone().into(), key.role.clone().into(), expires.into()];
        self.writes.write(&self.insert, &[params]).await.map(drop).map_err(StoreError::new)
    }

    /// Deletes a key. Returns whether there was one.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn delete(&self, hash: ApiKeyHash) -> Result<bool, StoreError> {
        let deleted = self.writes.write(&self.delete, &[self.hashes.params(hash)]).await;
        Ok(deleted.map_err(StoreError::new)? > 0)
    }
}

/// Returns the statement that creates a table of API keys.
fn create_statement(table: &OwnTable) -> String {
    let ([hash, expires], quoted) = (table.dialect.api_keys.new_types, &table.quoted);
    format!(
        "CREATE TABLE IF NOT EXISTS {quoted} (hash {hash} NOT NULL PRIMARY KEY, owner text, role text, expires {expires});"
    )
}

/// Creates a table of API keys unless it exists.
///
/// # Errors
/// The database cannot be reached, or the account may not create a table.
pub async fn create(table: &OwnTable) -> Result<(), TableError> {
    table.writes.write(&create_statement(table), &[Vec::new()]).await.map(drop)
}

/// Checks the names and types of the columns of a table, and returns what its hashes are.
fn check(table: &OwnTable) -> Result<HashColumn, TableLayoutError> {
    let OwnTable { name, dialect, .. } = table;
    let create = create_statement(table);
    check_api_key_columns(name, &table.column_names(), dialect.is_same, &create)?;
    let Some(types) = &dialect.api_keys.types else { return Ok(HashColumn::Any) };
    let type_of = |column| table.column_type(column).unwrap_or_default();
    let (hash, expires) = (type_of("hash"), type_of("expires"));
    let is_bytes = types.bytes.contains(&hash);
    let mut faults = Vec::new();
    let mut wrong = |column: &str, ty: &str, needed: &str| {
        faults.push(format!(
            "the column '{column}' of the table '{name}' of API keys has the type {ty}; it must be {needed}"
        ));
    };
    if !is_bytes && !types.texts.contains(&hash) {
        wrong("hash", hash, types.hash);
    }
    if !types.times.contains(&expires) {
        wrong("expires", expires, types.expires);
    }
    check_api_key_faults(faults, &create)?;
    Ok(if is_bytes { HashColumn::Bytes } else { HashColumn::Digits })
}

impl HashColumn {
    /// Returns the values that a hash may have in the column.
    fn params(self, hash: ApiKeyHash) -> Vec<Value> {
        let bytes = Value::Bytes(hash.0.to_vec());
        if self == Self::Bytes {
            return vec![bytes];
        }
        let digits = hash.to_string();
        let upper = digits.to_ascii_uppercase();
        let digits = [digits.into(), upper.into()];
        digits.into_iter().chain((self == Self::Any).then_some(bytes)).collect()
    }
}

/// Reads a row; `None` if its hash is malformed.
fn stored(row: &[Value]) -> Option<StoredApiKey> {
    let hash = match row.first()? {
        Value::Bytes(bytes) => bytes.as_slice().try_into().ok().map(ApiKeyHash),
        Value::Text(digits) => ApiKeyHash::parse(digits.trim_end()),
        _ => None,
    };
    let expires = match row.get(3)? {
        Value::Null => None,
        Value::Integer(seconds) => Some(time(*seconds as f64)),
        Value::Real(seconds) => Some(time(*seconds)),
        // A key whose time cannot be read has expired.
        _ => Some(UNIX_EPOCH),
    };
    Some(StoredApiKey { hash: hash?, owner: text(row, 1), role: text(row, 2), expires })
}

/// Returns the time that is `seconds` after 1970, but not before 1970 and not after the last time of the system.
fn time(seconds: f64) -> SystemTime {
    let since = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::from_secs(i64::MAX as u64));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

impl ApiKeySource for ApiKeys {
    fn find(&self, hash: ApiKeyHash) -> BoxFuture<'_, Result<Option<StoredApiKey>, StoreError>> {
        Box::pin(async move {
            let rows = self.reads.read(&self.find, &self.hashes.params(hash)).await;
            match rows.map_err(StoreError::new)?.as_slice() {
                [row] => Ok(stored(row)),
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
        f.debug_struct("ApiKeys").field("find", &self.find).finish_non_exhaustive()
    }
}
