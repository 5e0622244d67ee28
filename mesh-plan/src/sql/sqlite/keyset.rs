//! Pages that start after a cursor.

use mesh_ql::Nulls;
use sea_query::{Expr, ExprTrait as _};

use super::dialect::Sqlite;
use super::param::Param;
use crate::plan::SortKey;
use crate::sql::dialect::Operands;
use crate::sql::keyset::{self, CursorKey};
use crate::sql::predicate::compare;
use crate::sql::statement::Params;

/// Returns the condition on the rows that follow a cursor. `nulls` has for each value of the cursor whether it is NULL.
pub(super) fn after(
    params: &mut Params<Param>,
    columns: &Operands<'_, Sqlite<'_>>,
    order: &[SortKey],
    nulls: &[bool],
) -> Expr {
    let keys = order.iter().zip(nulls);
    let keys = keys.map(|(key, is_null)| CursorKey { key, column: columns(&key.source), is_null: *is_null });
    keyset::after(keys, |index, key, op| compare(key.column.clone(), op, params.add(Param::After(index))))
}

/// Returns the conditions on the same rows in two parts, rows with a value and then rows with NULL; `None` unless NULLs follow
/// the values of the first key. A scan of an index can start where either part begins. With one condition for both parts, it
/// would start at the first row for every page.
pub(super) fn parts(
    params: &mut Params<Param>,
    columns: &Operands<'_, Sqlite<'_>>,
    order: &[SortKey],
    nulls: &[bool],
) -> Option<[Expr; 2]> {
    let key = order.first()?;
    if !key.nullable || key.nulls != Nulls::Last || nulls.first() != Some(&false) {
        return None;
    }
    let mut with_value = order.to_vec();
    with_value.iter_mut().take(1).for_each(|key| key.nullable = false);
    Some([after(params, columns, &with_value, nulls), columns(&key.source).is_null()])
}
