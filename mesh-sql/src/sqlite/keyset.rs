//! Pages that start after a cursor.

use mesh_ql::{Direction, Nulls};
use sea_query::{Expr, ExprTrait as _, Order};

use super::class::Mixed;
use super::dialect::Sqlite;
use super::{Operand, Param};
use crate::dialect::Operands;
use crate::keyset::{self, CursorKey};
use crate::param;
use crate::statement::Params;
use mesh_plan::Value;
use mesh_plan::plan::SortKey;

/// Returns the condition on the rows that follow a cursor. `nulls` has for each value of the cursor whether it is NULL.
pub(super) fn after(
    params: &mut Params<Param>,
    columns: &Operands<'_, Sqlite>,
    order: &[SortKey],
    nulls: &[bool],
) -> Expr {
    let keys = order.iter().zip(nulls).enumerate().map(|(index, (key, is_null))| (index, key, *is_null));
    let terms = keys.clone().map(|(index, key, is_null)| (index, key, is_null, columns(&key.source)));
    let terms =
        terms.chain(keys.filter_map(|(index, key, is_null)| {
            Some((index, key, is_null, as_stored(columns(&key.source))?))
        }));
    let terms: Vec<_> = terms.collect();
    let keys = terms.iter().map(|(_, key, is_null, operand)| CursorKey {
        key,
        column: operand.clone().comparable().expr,
        is_null: *is_null,
    });
    keyset::after(keys, |term, _, op| match terms.get(term) {
        Some((index, .., operand)) => {
            operand.compare(op, param::after(params, *index, &operand.class, &Value::Null))
        }
        None => Expr::null(),
    })
}

/// Returns the terms that follow the keys of an order, so that it is total although different values of a column compare as
/// equal.
pub(super) fn tie_breaks(columns: &Operands<'_, Sqlite>, order: &[SortKey]) -> Vec<(Expr, Order)> {
    let stored = order.iter().filter_map(|key| {
        let order = if key.direction == Direction::Asc { Order::Asc } else { Order::Desc };
        Some((as_stored(columns(&key.source))?.expr, order))
    });
    stored.collect()
}

/// Returns a column that holds values in several forms as it is stored.
fn as_stored(operand: Operand) -> Option<Operand> {
    (operand.class != Mixed::ONE_FORM).then(|| Operand::new(operand.expr, Mixed::ONE_FORM))
}

/// Returns the conditions on the same rows in two parts, rows with a value and then rows with NULL; `None` unless NULLs follow
/// the values of the first key. A scan of an index can start where either part begins. With one condition for both parts, it
/// would start at the first row for every page.
pub(super) fn parts(
    params: &mut Params<Param>,
    columns: &Operands<'_, Sqlite>,
    order: &[SortKey],
    nulls: &[bool],
) -> Option<[Expr; 2]> {
    let key = order.first()?;
    if !key.nullable || key.nulls != Nulls::Last || nulls.first() != Some(&false) {
        return None;
    }
    let mut with_value = order.to_vec();
    with_value.iter_mut().take(1).for_each(|key| key.nullable = false);
    Some([after(params, columns, &with_value, nulls), columns(&key.source).expr.is_null()])
}
