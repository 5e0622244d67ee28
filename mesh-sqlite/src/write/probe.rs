//! Writes that the schema permits and the database would refuse.

use mesh_schema::Schema;
use mesh_sql::sqlite;

use crate::database::Database;
use crate::error::OpenError;
use crate::pool::Reader;

impl Database {
    /// Returns notes about writes that the schema permits and the database would refuse, for example because a foreign key
    /// refers to a missing table.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn refused_writes(&self, schema: &Schema) -> Result<Vec<String>, OpenError> {
        let probes = sqlite::write_probes(schema);
        if probes.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.path();
        // Statements are prepared like writes, but not run.
        let opened = Reader::open(&path, false).and_then(|reader| {
            reader.connection.pragma_update(None, "foreign_keys", true)?;
            Ok(reader)
        });
        let reader = opened.map_err(|error| OpenError::new(&path, error.to_string()))?;
        let refusal = |sql: &str| reader.connection.prepare(sql).err().map(|error| error.to_string());
        let note = |probe: &mesh_sql::WriteProbe| {
            let cause = refusal(&probe.sql)?;
            let refused = probe.fields.iter().filter(|(_, sql)| refusal(sql).is_some());
            Some(probe.note(&refused.map(|(field, _)| field.as_str()).collect::<Vec<_>>(), &cause))
        };
        Ok(probes.iter().filter_map(note).collect())
    }
}
