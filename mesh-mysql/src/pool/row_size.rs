//! The size of a row for the budget of a statement.

use mysql_async::{Row, Value};

/// The minimum length of a number in a response.
const MIN_NUMBER_BYTES: usize = 1;

/// Returns the number of bytes of a row that a response can show.
pub(super) fn row_size(row: &Row) -> usize {
    let cells = (0..row.len()).filter_map(|index| row.as_ref(index));
    cells
        .map(|cell| match cell {
            Value::Bytes(bytes) => bytes.len(),
            Value::NULL => 0,
            _ => MIN_NUMBER_BYTES,
        })
        .sum()
}
