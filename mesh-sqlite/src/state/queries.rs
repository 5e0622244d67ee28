//! Registered queries.

use mesh_backend::state::stored_query;
use mesh_plan::BoxFuture;
use mesh_plan::persisted::{PersistedQuery, QueryId, QueryStore, QueryStoreError};
use rusqlite::{OptionalExtension as _, Row, TransactionBehavior, params};

use super::{Inner, State};

/// Deletes the oldest queries beyond a number of queries and a number of bytes of their texts.
const TRIM: &str = "DELETE FROM query WHERE number IN (
    SELECT number FROM (SELECT number, row_number() OVER newest AS place, sum(bytes) OVER newest AS total
        FROM query WINDOW newest AS (ORDER BY number DESC)) WHERE place > ?1 OR total > ?2)";

impl QueryStore for State {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        let found = self.inner.find_query(id).map_err(QueryStoreError::new);
        Box::pin(std::future::ready(found))
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        Box::pin(async move {
            let query = query.clone();
            let saving = self.run(move |inner| inner.save_query(&query));
            saving.await.map_err(QueryStoreError::new)
        })
    }
}

impl Inner {
    fn find_query(&self, id: QueryId) -> rusqlite::Result<Option<PersistedQuery>> {
        let connection = self.lookups.lock();
        let mut statement =
            connection.prepare_cached("SELECT format, text, params FROM query WHERE id = ?1")?;
        let query = |row: &Row<'_>| Ok(stored_query(&row.get::<_, String>(0)?, row.get(1)?, row.get(2)?));
        Ok(statement.query_row([id.as_bytes().as_slice()], query).optional()?.flatten())
    }

    /// Stores a query as the newest one, and deletes the oldest ones above the limits.
    fn save_query(&self, query: &PersistedQuery) -> rusqlite::Result<()> {
        let mut durable = self.durable.lock();
        let change = durable.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let bytes = i64::try_from(query.bytes()).unwrap_or(i64::MAX);
        let declared = (!query.params().is_empty()).then(|| query.params().to_string());
        change.execute(
            "INSERT OR REPLACE INTO query (id, bytes, format, text, params) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![query.id().as_bytes().as_slice(), bytes, query.format().as_str(), query.text(), declared],
        )?;
        let limits = [self.limits.queries, self.limits.query_bytes];
        change.execute(TRIM, limits.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX)))?;
        change.commit()
    }
}
