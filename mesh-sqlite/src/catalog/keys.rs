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

/// SQLite lists the newest index first. A term that is an expression has no name.
const UNIQUE: &str = "\
    SELECT list.seq, list.origin = 'pk', list.partial, term.name \
    FROM pragma_index_list(?1, 'main') AS list, pragma_index_info(list.name, 'main') AS term \
    WHERE list.\"unique\" ORDER BY list.seq DESC, term.seqno";

/// SQLite lists the last declared key first.
const FOREIGN_KEYS: &str = "\
    SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?1, 'main') ORDER BY id DESC, seq";

/// Reads the unique indexes of a table.
pub(super) fn indexes(connection: &Connection, table: &str) -> Result<Indexes, Error> {
    let mut statement = connection.prepare_cached(UNIQUE)?;
    let mut rows = statement.query([table])?;
    let mut found = Indexes::default();
    let mut sets: Vec<(i64, Option<Vec<String>>)> = Vec::new();
    while let Some(row) = rows.next()? {
        if row.get(1)? {
            found.for_primary_key = true;
            continue;
        }
        let (index, partial, name): (i64, bool, Option<String>) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let name = name.filter(|_| !partial);
        match sets.last_mut() {
            Some((last, set)) if *last == index => match (set.as_mut(), name) {
                (Some(names), Some(name)) => names.push(name),
                _ => *set = None,
            },
            _ => sets.push((index, name.map(|name| vec![name]))),
        }
    }
    for set in sets.into_iter().filter_map(|(_, set)| set) {
        if !found.unique.contains(&set) {
            found.unique.push(set);
        }
    }
    Ok(found)
}

/// Reads the foreign keys of a table, in the order of their declaration.
pub(super) fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>, Error> {
    let mut statement = connection.prepare_cached(FOREIGN_KEYS)?;
    let mut rows = statement.query([table])?;
    let mut found: Vec<(i64, ForeignKey)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, column, target_column): (i64, String, Option<String>) =
            (row.get(0)?, row.get(2)?, row.get(3)?);
        match found.last_mut() {
            Some((last, foreign_key)) if *last == id => {
                foreign_key.columns.push(column);
                foreign_key.target_columns.extend(target_column);
            }
            _ => {
                let foreign_key = ForeignKey {
                    columns: vec![column],
                    target: row.get(1)?,
                    target_columns: target_column.into_iter().collect(),
                    ..ForeignKey::default()
                };
                found.push((id, foreign_key));
            }
        }
    }
    Ok(found.into_iter().map(|(_, foreign_key)| foreign_key).collect())
}
