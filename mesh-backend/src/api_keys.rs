//! API keys in a table of the served database.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use mesh_integrity::{
    API_KEY_COLUMNS, ApiKeyHash, ApiKeySource, BoxFuture, StoreError, StoredApiKey, TableError,
    check_api_key_columns, check_api_key_faults,
};
use mesh_plan::Value;

use crate::tables::{Tables, text};

/// What a column of hashes contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashColumn {
    /// Hex digits of either case.
    Digits,
    /// Bytes.
    Bytes,
    /// Both.
    Any,
}

/// The accepted types of the columns of hashes and times, and their names in messages.
#[derive(Debug)]
pub struct ColumnTypes {
    /// The types of texts.
    pub texts: &'static [&'static str],
    /// The types of bytes.
    pub bytes: &'static [&'static str],
    /// The types of times.
    pub times: &'static [&'static str],
    /// The types of the column of hashes, for messages.
    pub hash: &'static str,
    /// The types of the column of times, for messages.
    pub expires: &'static str,
}

impl ColumnTypes {
    /// Checks the names and types of the columns of a table, and returns what its hashes are. `is_column` compares a column of
    /// the table with a name; `create` is the statement that creates such a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing or have the wrong type.
    pub fn check(
        &self,
        table: &str,
        columns: &[(String, String)],
        is_column: impl Fn(&str, &str) -> bool,
        create: &str,
    ) -> Result<HashColumn, TableError> {
        let names: Vec<String> = columns.iter().map(|(column, _)| column.clone()).collect();
        check_api_key_columns(table, &names, &is_column, create)?;
        let type_of = |name: &str| {
            let found = columns.iter().find(|(column, _)| is_column(column, name));
            found.map_or("", |(_, ty)| ty.as_str())
        };
        let (hash, expires) = (type_of("hash"), type_of("expires"));
        let mut faults = Vec::new();
        let mut wrong = |column: &str, ty: &str, needed: &str| {
            faults.push(format!(
                "the column '{column}' of the table '{table}' of 'api_keys.table' has the type {ty}; it must be {needed}"
            ));
        };
        if !self.bytes.contains(&hash) && !self.texts.contains(&hash) {
            wrong("hash", hash, self.hash);
        }
        if !self.times.contains(&expires) {
            wrong("expires", expires, self.expires);
        }
        check_api_key_faults(faults, create)?;
        Ok(if self.bytes.contains(&hash) { HashColumn::Bytes } else { HashColumn::Digits })
    }
}

/// A table of API keys in the SQL of its engine.
#[derive(Debug)]
pub struct KeyTable<'t> {
    /// The quoted name of the table.
    pub table: &'t str,
    /// What its hashes are.
    pub hashes: HashColumn,
    /// The hash, the owner and the role as texts, and the time in seconds since 1970.
    pub selected: &'t str,
    /// The operator for equal hashes.
    pub equals: &'t str,
    /// The parameters with a hash, an owner, a role, and a time in UTC like `2030-01-02T03:04:05Z`.
    pub params: [&'t str; 4],
}

/// The API keys of a database.
///
/// Hashes are hex digits or 32 bytes. Times without a zone are in UTC.
#[derive(Clone)]
pub struct ApiKeys {
    tables: Arc<dyn Tables>,
    hashes: HashColumn,
    list: String,
    find: String,
    insert: String,
    delete: String,
}

impl ApiKeys {
    /// Creates the API keys of a table, whose columns are [`API_KEY_COLUMNS`].
    pub fn new(tables: impl Tables, keys: &KeyTable<'_>) -> Self {
        let KeyTable { table, hashes, selected, equals, params } = *keys;
        let values = params.join(", ");
        let hash = params.iter().take(hashes.params(ApiKeyHash([0; 32])).len());
        let is_hash = hash.map(|param| format!("hash {equals} {param}")).collect::<Vec<_>>().join(" OR ");
        let list = format!("SELECT {selected} FROM {table}");
        Self {
            tables: Arc::new(tables),
            hashes,
            find: format!("{list} WHERE {is_hash} LIMIT 2"),
            insert: format!("INSERT INTO {table} ({}) VALUES ({values})", API_KEY_COLUMNS.join(", ")),
            delete: format!("DELETE FROM {table} WHERE {is_hash} RETURNING hash"),
            list,
        }
    }

    /// Returns all keys with a well-formed hash, and the number of malformed keys.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn list(&self) -> Result<(Vec<StoredApiKey>, usize), StoreError> {
        let rows = self.tables.read(&self.list, &[]).await.map_err(StoreError::new)?;
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
        self.tables.write(&self.insert, &[params]).await.map(drop).map_err(StoreError::new)
    }

    /// Deletes a key. Returns whether there was one.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn delete(&self, hash: ApiKeyHash) -> Result<bool, StoreError> {
        let deleted = self.tables.write(&self.delete, &[self.hashes.params(hash)]).await;
        Ok(deleted.map_err(StoreError::new)? > 0)
    }
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
            let rows = self.tables.read(&self.find, &self.hashes.params(hash)).await;
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
