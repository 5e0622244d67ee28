//! Pages that start after a cursor.

use sea_query::Expr;

use super::dialect::MySql;
use super::operand::Operand;
use super::param::{self, Param};
use crate::dialect::Operands;
use crate::keyset::{self, CursorKey};
use crate::statement::Params;
use mesh_plan::Value;
use mesh_plan::{CompareOp, SortKey};

/// A sort key with its operand and the cursor's value for it.
type KeyOperand<'a> = (&'a SortKey, Operand, &'a Value);

/// Returns the condition on the rows that follow the row with these sort values. A scan of an index on the keys can start at
/// this row, which is not possible with a comparison of tuples.
pub(super) fn after(
    params: &mut Params<Param>,
    operands: &Operands<'_, MySql<'_>>,
    order: &[SortKey],
    values: &[Value],
) -> Expr {
    let keys = order.iter().zip(values);
    let keys: Vec<KeyOperand<'_>> =
        keys.map(|(key, value)| (key, operands(&key.source).comparable(), value)).collect();
    let cursor = keys.iter().map(|(key, operand, value)| CursorKey {
        key,
        // The database would find dates without a month and a day by `IS NULL`, too, if the column cannot hold NULL.
        column: if operand.class.is_date() { operand.to_text().expr } else { operand.expr.clone() },
        is_null: **value == Value::Null,
    });
    keyset::after(cursor, |index, _, op| {
        keys.get(index).map_or_else(Expr::null, |key| compare(params, index, key, op))
    })
}

fn compare(
    params: &mut Params<Param>,
    index: usize,
    (_, operand, value): &KeyOperand<'_>,
    op: CompareOp,
) -> Expr {
    let right = param::after(params, index, &operand.class, value);
    let is_read = operand.class.value(value).is_some();
    if is_read { operand.compare(op, right) } else { operand.to_text().compare(op, right) }
}
