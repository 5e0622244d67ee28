//! The size of a row for the budget of a statement.

use tokio_postgres::Row;

/// Bytes of a row that the response does not show: the numbers of its level, its parent and itself, and lengths.
const ROW_OVERHEAD: usize = 64;

/// Returns the number of bytes of a row that a response can show.
pub(super) fn row_size(row: &Row) -> usize {
    row.raw_size_bytes().saturating_sub(ROW_OVERHEAD)
}
