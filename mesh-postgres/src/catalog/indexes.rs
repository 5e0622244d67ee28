//! A check whether columns have an index.

use mesh_backend::catalog::is_indexed;
use tokio_postgres::Error;

use crate::pool::connection::Connection;
use crate::sql::TextParam;

/// Returns whether an index of a table, whose name is quoted, begins with these columns in any order; `None` for a view.
pub(crate) async fn has_index(
    connection: &Connection,
    table: &str,
    columns: &[String],
) -> Result<Option<bool>, Error> {
    const INDEXES: &str = "SELECT c.relkind IN ('r', 'p', 'm'), k.place::text, a.attname::text
        FROM pg_catalog.pg_class AS c
        LEFT JOIN (pg_catalog.pg_index AS i
            CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS k (number, place)
            LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number)
        ON i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND k.place <= i.indnkeyatts
        WHERE c.oid = pg_catalog.to_regclass($1) ORDER BY i.indexrelid, k.place";
    let rows = connection.query_once(INDEXES, &[TextParam::text(table)]).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    if !first.get::<_, bool>(0) {
        return Ok(None);
    }
    let parts = rows.iter().filter_map(|row| {
        let place: Option<&str> = row.get(1);
        Some((place?.parse().ok()?, row.get(2)))
    });
    Ok(Some(is_indexed(parts, columns)))
}
