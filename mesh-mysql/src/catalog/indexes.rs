//! A check whether columns have an index.

use mesh_backend::catalog::is_indexed;
use mesh_schema::TableName;
use mysql_async::Error;

use super::param;
use crate::cells::{integer, optional_text, text};
use crate::pool::connection::Connection;

/// Returns whether an index of a table begins with these columns in any order; `None` for a view.
pub(crate) async fn has_index(
    connection: &mut Connection,
    table: &TableName,
    columns: &[String],
) -> Result<Option<bool>, Error> {
    let kind =
        "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?";
    let kinds = connection.query(kind, &[param(&table.name)]).await?;
    if kinds.first().is_none_or(|row| text(row, 0) == "VIEW") {
        return Ok(None);
    }
    let sql = "SELECT SEQ_IN_INDEX, COLUMN_NAME FROM information_schema.STATISTICS \
               WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX";
    let rows = connection.query(sql, &[param(&table.name)]).await?;
    let parts = rows.iter().map(|row| {
        let place = integer(row, 0).and_then(|place| usize::try_from(place).ok());
        (place.unwrap_or_default(), optional_text(row, 1))
    });
    Ok(Some(is_indexed(parts, columns)))
}
