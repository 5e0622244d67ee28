//! The tables whose triggers report every change.

use std::collections::BTreeSet;
use std::sync::Arc;

use mesh_schema::TableName;
use tokio_postgres::Error;

use crate::pool::connection::Connection;
use crate::sql::TextParam;

/// The tables whose triggers report every change.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    pub(super) tables: Arc<BTreeSet<TableName>>,
    /// Differs after any change of these tables' definitions or of their triggers. Both can change rows without a
    /// notification, for example if a partition is removed, or if a trigger is disabled for a while.
    pub(super) version: String,
}

impl Coverage {
    /// Reads the tables from the catalog. Both triggers have to be as [`super::triggers`] creates them, also on each partition,
    /// and enabled even for replication. `tgtype` has bits for rows (1), INSERT (4), DELETE (8), UPDATE (16) and TRUNCATE (32).
    /// A table from which others inherit is not covered, because its triggers do not concern their rows.
    pub(super) async fn read(connection: &Connection, default: Option<&String>) -> Result<Self, Error> {
        let sql = "WITH RECURSIVE installed AS ( \
                     SELECT t.tgrelid, pg_catalog.string_agg(t.oid::text || ' ' || t.xmin::text, ' ' ORDER BY t.oid) AS version \
                     FROM pg_catalog.pg_trigger AS t \
                     WHERE t.tgfoid = (SELECT pg_catalog.to_regprocedure('mesh.report_change()'))::oid \
                       AND t.tgenabled = 'A' AND t.tgqual IS NULL AND t.tgattr::text = '' \
                       AND (t.tgname = 'mesh_changes' AND t.tgtype = 29 OR t.tgname = 'mesh_truncated' AND t.tgtype = 32) \
                     GROUP BY t.tgrelid HAVING count(*) = 2), \
                   tree AS ( \
                     SELECT tgrelid AS root, tgrelid AS id FROM installed \
                     UNION SELECT tree.root, i.inhrelid FROM tree \
                       JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tree.id) \
                   SELECT CASE WHEN n.nspname = $1::text THEN NULL ELSE n.nspname::text END, r.relname, \
                     pg_catalog.string_agg(pg_catalog.concat_ws(' ', c.oid, c.xmin, g.version), ' ' ORDER BY c.oid) \
                   FROM tree JOIN pg_catalog.pg_class AS r ON r.oid = tree.root \
                     JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace \
                     JOIN pg_catalog.pg_class AS c ON c.oid = tree.id \
                     LEFT JOIN installed AS g ON g.tgrelid = tree.id \
                   WHERE r.relkind IN ('r', 'p') AND NOT r.relispartition \
                   GROUP BY r.oid, n.nspname, r.relname \
                   HAVING pg_catalog.bool_and(g.tgrelid IS NOT NULL AND (c.oid = r.oid OR c.relispartition)) \
                   ORDER BY r.oid";
        let default = default.map_or(TextParam(None), |default| TextParam::text(default));
        let rows = connection.query_once(sql, &[default]).await?;
        let table = |row: &tokio_postgres::Row| TableName { schema: row.get(0), name: row.get(1) };
        let versions: Vec<String> = rows.iter().map(|row| row.get(2)).collect();
        Ok(Self { tables: Arc::new(rows.iter().map(table).collect()), version: versions.join(" ") })
    }
}
