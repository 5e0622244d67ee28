//! Writes that the schema permits and the database would refuse.

use mesh_schema::Schema;
use mesh_sql::sqlite::Sqlite;

use crate::database::Database;
use crate::pool::Reader;

/// Returns notes about writes that the schema permits and the database would refuse, for example because a foreign key
/// refers to a missing table.
pub(crate) fn refused_writes(database: &Database, schema: &Schema) -> rusqlite::Result<Vec<String>> {
    let probes = mesh_sql::write_probes(schema, &Sqlite::PLAIN);
    if probes.is_empty() {
        return Ok(Vec::new());
    }
    // Statements are prepared like writes, but not run.
    let connection = Reader::open(&database.path(), false)?.connection;
    connection.pragma_update(None, "foreign_keys", true)?;
    let refusal = |sql: &str| connection.prepare(sql).err().map(|error| error.to_string());
    let note = |probe: &mesh_sql::WriteProbe| {
        let cause = refusal(&probe.sql)?;
        let refused = probe.fields.iter().filter(|(_, sql)| refusal(sql).is_some());
        Some(probe.note(&refused.map(|(field, _)| field.as_str()).collect::<Vec<_>>(), &cause))
    };
    Ok(probes.iter().filter_map(note).collect())
}
