//! Unique keys and foreign keys of a table.

use mesh_schema::ForeignKey;
use rusqlite::{Connection, Error};

/// The unique keys of a table.
#[derive(Default)]
pub(super) struct Indexes {
    /// Sets of plain columns that are unique in all rows, in the order of their creation, without the primary key.
    pub(super) unique: Vec<Vec<String>>,
    /// Whether the primary key has an index.
    pub(super) for_primary_key: bool,
}

/// SQLite lists the newest index first.
const UNIQUE: &str = "\
    SELECT name, origin = 'pk' FROM pragma_index_list(?1, 'main') WHERE \"unique\" AND NOT partial ORDER BY seq DESC";

/// A term that is an expression has no name.
const TERMS: &str = "SELECT name FROM pragma_index_info(?1, 'main') ORDER BY seqno";

/// SQLite lists the last declared key first.
const FOREIGN_KEYS: &str = "\
    SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?1, 'main') ORDER BY id DESC, seq";

/// Reads the unique indexes of a table.
pub(super) fn indexes(connection: &Connection, table: &str) -> Result<Indexes, Error> {
    let mut statement = connection.prepare_cached(UNIQUE)?;
    let mut terms = connection.prepare_cached(TERMS)?;
    let mut rows = statement.query([table])?;
    let mut found = Indexes::default();
    while let Some(row) = rows.next()? {
        if row.get(1)? {
            found.for_primary_key = true;
            continue;
        }
        let names = terms.query_map([row.get::<_, String>(0)?], |row| row.get(0))?;
        if let Some(set) = names.collect::<Result<Option<Vec<String>>, Error>>()?
            && !found.unique.contains(&set)
        {
            found.unique.push(set);
        }
    }
    Ok(found)
}

/// Reads the foreign keys of a table, in the order of their declaration.
pub(super) fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>, Error> {
    let mut statement = connection.prepare_cached(FOREIGN_KEYS)?;
    let rows = statement.query_map([table], |row| {
        let foreign_key = ForeignKey {
            columns: vec![row.get(2)?],
            target: row.get(1)?,
            target_columns: row.get::<_, Option<String>>(3)?.into_iter().collect(),
            ..ForeignKey::default()
        };
        Ok((row.get::<_, i64>(0)?, foreign_key))
    })?;
    let mut found: Vec<(i64, ForeignKey)> = Vec::new();
    for row in rows {
        let (id, part) = row?;
        match found.last_mut().filter(|(last, _)| *last == id) {
            Some((_, foreign_key)) => {
                foreign_key.columns.extend(part.columns);
                foreign_key.target_columns.extend(part.target_columns);
            }
            None => found.push((id, part)),
        }
    }
    Ok(found.into_iter().map(|(_, foreign_key)| foreign_key).collect())
}
