//! A check whether columns have an index.

use std::collections::BTreeMap;

use mesh_schema::TableName;
use rusqlite::Connection;

/// Returns whether an index of a table begins with these columns in any order; `None` for a view.
pub(crate) fn has_index(
    connection: &Connection,
    table: &TableName,
    columns: &[String],
) -> rusqlite::Result<Option<bool>> {
    // A primary key of one integer has no index of its own.
    const INDEXED: &str = "SELECT '', pk, name FROM pragma_table_info(?1, 'main') WHERE pk > 0
        UNION ALL SELECT indexes.name, columns.seqno, columns.name
        FROM pragma_index_list(?1, 'main') AS indexes, pragma_index_info(indexes.name, 'main') AS columns
        WHERE NOT indexes.partial ORDER BY 1, 2";
    if !connection.table_exists(Some("main"), table.name.as_str())? {
        return Ok(None);
    }
    let mut indexes: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    let mut statement = connection.prepare(INDEXED)?;
    let mut rows = statement.query([&table.name])?;
    while let Some(row) = rows.next()? {
        indexes.entry(row.get(0)?).or_default().push(row.get(2)?);
    }
    let is_served = |index: &Vec<Option<String>>| {
        columns.iter().all(|column| {
            let mut first = index.iter().take(columns.len()).flatten();
            first.any(|indexed| indexed.eq_ignore_ascii_case(column))
        })
    };
    Ok(Some(indexes.values().any(is_served)))
}

#[cfg(test)]
mod tests {
    use crate::tests::File;

    use super::*;

    #[test]
    fn an_index_serves_its_first_columns() {
        let file = File::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c, d, e UNIQUE);
            CREATE INDEX ab ON t (b, A); CREATE INDEX some ON t (c) WHERE a > 1; CREATE INDEX expression ON t (d + 1, d);
            CREATE TABLE pairs (x, y, PRIMARY KEY (x, y)) WITHOUT ROWID; CREATE VIEW v AS SELECT * FROM t;",
        );
        let connection = file.connect();
        let indexed = |table: &str, columns: &[&str]| {
            let table = TableName { schema: None, name: table.to_owned() };
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            has_index(&connection, &table, &columns).unwrap()
        };
        for columns in [&["id"][..], &["b"], &["a", "b"], &["b", "a"], &["e"]] {
            assert_eq!(indexed("T", columns), Some(true), "{columns:?}");
        }
        for columns in [&["a"][..], &["c"], &["d"], &["b", "c"]] {
            assert_eq!(indexed("t", columns), Some(false), "{columns:?}");
        }
        assert_eq!(indexed("pairs", &["x"]), Some(true));
        assert_eq!(indexed("pairs", &["y"]), Some(false));
        assert_eq!(indexed("v", &["id"]), None);
    }
}
