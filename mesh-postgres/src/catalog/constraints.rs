//! The names of constraints and unique indexes, with the columns that they refer to.

use std::collections::HashMap;

use mesh_schema::Constraint;
use mesh_sql::text;
use tokio_postgres::Error;

use crate::pool::connection::Connection;
use crate::sql::TextParam;

/// A constraint or a unique index.
pub(super) struct RawConstraint {
    name: String,
    columns: Vec<String>,
    /// The expressions of an index, as text.
    expressions: Vec<String>,
}

impl RawConstraint {
    /// Converts this to a constraint on its columns and on those that its expressions use.
    pub(super) fn into_constraint<'c>(self, all: impl Iterator<Item = &'c str> + Clone) -> Constraint {
        let Self { name, mut columns, expressions } = self;
        for expression in expressions {
            let used = text::columns(&text::tokens(&expression), all.clone());
            columns.extend(used.into_iter().map(str::to_owned));
        }
        columns.dedup();
        Constraint { name, columns }
    }
}

/// Reads the constraints and unique indexes of each table.
pub(super) async fn read(
    connection: &Connection,
    ids: &str,
) -> Result<HashMap<u32, Vec<RawConstraint>>, Error> {
    let sql = "SELECT c.conrelid, c.conname, ARRAY( \
                   SELECT a.attname FROM pg_catalog.unnest(c.conkey) WITH ORDINALITY AS k (number, place) \
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.number \
                   ORDER BY k.place), ARRAY[]::text[] \
               FROM pg_catalog.pg_constraint AS c \
               WHERE c.contype IN ('c', 'f') AND c.conrelid = ANY($1::oid[]) \
               UNION ALL SELECT i.indrelid, n.relname, ARRAY[]::name[], ARRAY( \
                   SELECT pg_catalog.pg_get_indexdef(i.indexrelid, k, false) \
                   FROM pg_catalog.generate_series(1, i.indnkeyatts) AS k) \
               FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS n ON n.oid = i.indexrelid \
               WHERE (i.indisunique OR i.indisexclusion) AND i.indrelid = ANY($1::oid[])";
    let mut constraints: HashMap<u32, Vec<RawConstraint>> = HashMap::new();
    for row in connection.query_once(sql, &[TextParam::text(ids)]).await? {
        let constraint = RawConstraint { name: row.get(1), columns: row.get(2), expressions: row.get(3) };
        constraints.entry(row.get(0)).or_default().push(constraint);
    }
    Ok(constraints)
}
