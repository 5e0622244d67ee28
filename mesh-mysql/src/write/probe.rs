//! Writes that the schema permits and the database would refuse.

use mesh_schema::Schema;
use mesh_sql::mysql::MySql;
use mysql_async::Error;

use crate::database::Database;
use crate::error::BoxError;
use crate::pool::PoolError;
use crate::pool::connection::Connection;

/// Returns notes about writes that the schema permits and the database would refuse.
pub(crate) async fn refused_writes(database: &Database, schema: &Schema) -> Result<Vec<String>, BoxError> {
    let probes = mesh_sql::write_probes(schema, &MySql);
    if probes.is_empty() {
        return Ok(Vec::new());
    }
    let mut connection = database.writes.take(false).await?;
    let mut notes = Vec::new();
    for probe in probes {
        let Some(cause) = refusal(&mut connection, &probe.sql).await? else { continue };
        let mut refused = Vec::new();
        for (field, sql) in &probe.fields {
            if refusal(&mut connection, sql).await?.is_some() {
                refused.push(field.as_str());
            }
        }
        notes.push(probe.note(&refused, &cause));
    }
    Ok(notes)
}

/// Returns the reason why the database refuses a statement, which it decides when it prepares the statement.
async fn refusal(connection: &mut Connection, sql: &str) -> Result<Option<String>, PoolError> {
    match connection.prepare(sql).await {
        Ok(()) => Ok(None),
        Err(Error::Server(cause)) => Ok(Some(cause.message)),
        Err(error) => Err(PoolError::Failed(error)),
    }
}
