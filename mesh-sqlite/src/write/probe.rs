//! Writes that the schema permits and the database would refuse.

use mesh_schema::Schema;
use mesh_sql::sqlite;
use rusqlite::{Connection, OpenFlags};

use crate::database::Database;
use crate::functions::add_functions;
use crate::pool::interrupt::Interrupt;

/// Returns notes about writes that the schema permits and the database would refuse, for example because a foreign key
/// refers to a missing table.
pub(crate) fn refused_writes(database: &Database, schema: &Schema) -> rusqlite::Result<Vec<String>> {
    let probes = sqlite::write_probes(schema);
    if probes.is_empty() {
        return Ok(Vec::new());
    }
    let connection = open(&database.path())?;
    let refusal = |sql: &str| connection.prepare(sql).err().map(|error| error.to_string());
    let note = |probe: &mesh_sql::WriteProbe| {
        let cause = refusal(&probe.sql)?;
        let refused = probe.fields.iter().filter(|(_, sql)| refusal(sql).is_some());
        Some(probe.note(&refused.map(|(field, _)| field.as_str()).collect::<Vec<_>>(), &cause))
    };
    Ok(probes.iter().filter_map(note).collect())
}

/// Opens a connection like those for writes, which prepares statements but cannot run them.
fn open(path: &std::path::Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let interrupt = Interrupt::new(&mut connection)?;
    add_functions(&connection, &interrupt)?;
    Ok(connection)
}
