//! Persisted queries.

use mesh_plan::persisted::{
    ParamDeclarations, Persisted, PersistedQuery, QueryId, QueryStore, QueryStoreError,
};
use mesh_plan::{BoxFuture, Value};

use super::{Inner, State, number};
use crate::tables::text;

/// Returns the query with the stored format, text and parameters; `None` if they cannot be read.
pub fn stored_query(format: &str, text: String, params: Option<String>) -> Option<PersistedQuery> {
    let query = PersistedQuery::new(format.parse().ok()?, text);
    match params {
        Some(params) => Some(query.with_params(ParamDeclarations::parse(&params).ok()?)),
        None => Some(query),
    }
}

impl QueryStore for State {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        Box::pin(async move {
            let id = Value::Bytes(id.as_bytes().to_vec());
            let found = self.0.tables.read(self.0.statements.find_query, &[id]).await;
            let found = found.map_err(QueryStoreError::new)?;
            Ok(found.first().and_then(|row| stored_query(&text(row, 0)?, text(row, 1)?, text(row, 2))))
        })
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        Box::pin(async move {
            let Inner { tables, statements, queries, .. } = &*self.0;
            let declared = query.params();
            let declared = (!declared.is_empty()).then(|| declared.to_string());
            let id = Value::Bytes(query.id().as_bytes().to_vec());
            let params = [id, query.format().as_str().into(), query.text().into(), declared.into()];
            tables.read(statements.insert_query, &params).await.map_err(QueryStoreError::new)?;
            let bounds = [*queries, Persisted::TEXT_BYTES].map(|bound| number(bound as u64));
            tables.read(statements.trim_queries, &bounds).await.map(drop).map_err(QueryStoreError::new)
        })
    }
}
