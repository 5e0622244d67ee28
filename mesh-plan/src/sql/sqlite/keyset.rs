//! Pages that start after a cursor.

use mesh_ql::Nulls;
use sea_query::{Expr, ExprTrait as _};

use super::param::Param;
use crate::plan::SortKey;
use crate::sql::keyset::{self, CursorKey};
use crate::sql::predicate::Columns;
use crate::sql::predicate::compare;
use crate::sql::statement::Params;

/// Returns the condition on the rows that follow a cursor with NULL in these of its values.
pub(super) fn after(
    params: &mut Params<Param>,
    columns: &Columns<'_>,
    order: &[SortKey],
    nulls: &[bool],
) -> Expr {
    let keys = order.iter().zip(nulls);
    let keys: Vec<_> = keys
        .map(|(key, is_null)| CursorKey { key, column: columns(&key.source), is_null: *is_null })
        .collect();
    keyset::after(&keys, &mut |index, op| {
        let column = keys.get(index).map_or_else(Expr::null, |key| key.column.clone());
        compare(column, op, params.add(Param::After(index)))
    })
}

/// Returns the same rows in two parts if NULLs follow the values of the first key: rows with a value, then rows with
/// NULL. An index has a position where either part begins, but none for a condition of both, with which every page
/// would be searched for from the first row on.
pub(super) fn parts(
    params: &mut Params<Param>,
    columns: &Columns<'_>,
    order: &[SortKey],
    nulls: &[bool],
) -> Option<[Expr; 2]> {
    let (key, rest) = order.split_first()?;
    if !key.nullable || key.nulls != Nulls::Last || nulls.first() != Some(&false) {
        return None;
    }
    let with_value = SortKey { nullable: false, ..key.clone() };
    let keys: Vec<SortKey> = std::iter::once(with_value).chain(rest.iter().cloned()).collect();
    Some([after(params, columns, &keys, nulls), columns(&key.source).is_null()])
}
