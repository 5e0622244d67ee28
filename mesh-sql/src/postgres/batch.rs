//! One statement for several point reads that differ only in their ids.

use std::sync::Arc;

use super::Param;
use crate::statement::Statement;

/// Returns the statement for several runs of a point read whose only parameters are the parts of the id. `None` for other reads,
/// those with to-many relations, and ids whose type has no name.
///
/// Its parameters are arrays of these parts ([`array`](super::array)). A row is a row of the single statement, followed by the
/// number of its read as `int8`. The first read has the number 1.
pub(super) fn statement(read: &Statement<Param>, levels: usize) -> Option<Arc<str>> {
    let (mut single, mut arrays, mut parts) = (read.sql.clone(), Vec::new(), String::new());
    for (index, param) in read.params.iter().enumerate() {
        let Param::Id(_, class) = param else { return None };
        let (number, ty) = (index + 1, class.bind_type_name());
        let part = format!("CAST(${number} AS {ty})");
        // The only occurrence is the parameter. A name could contain another one.
        if single.matches(&part).count() != 1 {
            return None;
        }
        single = single.replace(&part, &format!("b.k{number}"));
        arrays.push(format!("pg_catalog.unnest(CAST(${number} AS {ty}[]))"));
        parts += &format!("k{number}, ");
    }
    let arrays = (levels == 1 && !arrays.is_empty()).then(|| arrays.join(", "))?;
    // The limit keeps the database from merging the single statement into the join, so it is planned as if it ran singly.
    let batch = format!(
        "SELECT r.*, b.n FROM ROWS FROM ({arrays}) WITH ORDINALITY AS b ({parts}n) CROSS JOIN LATERAL ({single} LIMIT 1) AS r"
    );
    Some(batch.into())
}
