//! Writes that the schema permits and the database would refuse.

use mesh_schema::Schema;

use crate::database::Database;
use crate::error::BoxError;
use crate::pool::connection::Connection;

/// Returns notes about writes that the schema permits and the database would refuse.
pub(crate) async fn refused_writes(database: &Database, schema: &Schema) -> Result<Vec<String>, BoxError> {
    let probes = mesh_sql::write_probes(schema, &database.statements.dialect);
    if probes.is_empty() {
        return Ok(Vec::new());
    }
    let link = database.pool.take(false).await?;
    let mut notes = Vec::new();
    for probe in probes {
        let Some(cause) = refusal(&link, &probe.sql).await else { continue };
        let mut refused = Vec::new();
        for (field, sql) in &probe.fields {
            if refusal(&link, sql).await.is_some() {
                refused.push(field.as_str());
            }
        }
        notes.push(probe.note(&refused, &cause));
    }
    Ok(notes)
}

/// Returns the reason why the database refuses a statement. Only its start checks privileges, and `EXPLAIN` includes that.
async fn refusal(link: &Connection, sql: &str) -> Option<String> {
    let error = link.query_once(&format!("EXPLAIN {sql}"), &[]).await.err()?;
    error.as_db_error().map(|cause| cause.message().to_owned())
}
