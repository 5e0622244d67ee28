//! Registered queries.

use mesh_plan::{BoxFuture, PersistedQuery, QueryId, QueryStore, QueryStoreError};
use mesh_ql::Format;
use rusqlite::{OptionalExtension as _, Row, TransactionBehavior, params};

use super::{Inner, State, count, run_blocking};

const COUNT: &str = "SELECT count(*) FROM query";
const BYTES: &str = "SELECT coalesce(sum(bytes), 0) FROM query";

impl QueryStore for State {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        let found = self.inner.find_query(id).map_err(QueryStoreError::new);
        Box::pin(std::future::ready(found))
    }

    fn keep<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        Box::pin(async move {
            let (id, format, text) = (query.id(), query.format(), query.text().to_owned());
            let keeping = run_blocking(&self.inner, move |inner| inner.keep_query(id, format, &text));
            keeping.await.map_err(QueryStoreError::new)
        })
    }
}

impl Inner {
    fn find_query(&self, id: QueryId) -> rusqlite::Result<Option<PersistedQuery>> {
        let connection = self.lookups.lock();
        let mut statement = connection.prepare_cached("SELECT format, text FROM query WHERE id = ?1")?;
        let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let found = statement.query_row([id.as_bytes().as_slice()], row).optional()?;
        Ok(found.and_then(|(format, text)| Some(PersistedQuery::new(Format::parse(&format)?, text))))
    }

    /// Stores a query as the newest one, and deletes the oldest ones above the limits.
    fn keep_query(&self, id: QueryId, format: Format, text: &str) -> rusqlite::Result<()> {
        let mut durable = self.durable.lock();
        let change = durable.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let bytes = i64::try_from(text.len()).unwrap_or(i64::MAX);
        change.execute(
            "INSERT OR REPLACE INTO query (id, bytes, format, text) VALUES (?1, ?2, ?3, ?4)",
            params![id.as_bytes().as_slice(), bytes, format.name(), text],
        )?;
        while count(&change, COUNT)? > self.limits.queries || count(&change, BYTES)? > self.limits.query_bytes
        {
            if change.execute("DELETE FROM query WHERE number = (SELECT min(number) FROM query)", [])? == 0 {
                break;
            }
        }
        change.commit()
    }
}
