//! Pages that start after a cursor.

use mesh_ql::Direction;
use sea_query::Expr;

use super::compare;
use super::dialect::Postgres;
use super::operand::Operand;
use super::param::{self, Param, has_nul};
use crate::custom::operator;
use crate::dialect::Operands;
use crate::keyset::{self, CursorKey};
use crate::statement::Params;
use mesh_plan::Value;
use mesh_plan::{CompareOp, SortKey};

/// A sort key with its operand and the cursor's value for it.
type KeyOperand<'a> = (&'a SortKey, Operand, &'a Value);

/// Returns the condition on the rows that follow the row with these sort values.
pub(super) fn after(
    params: &mut Params<Param>,
    operands: &Operands<'_, Postgres<'_>>,
    order: &[SortKey],
    values: &[Value],
) -> Expr {
    let keys = order.iter().zip(values);
    let keys: Vec<KeyOperand<'_>> =
        keys.map(|(key, value)| (key, operands(&key.source).comparable(), value)).collect();
    if let Some(condition) = after_row(params, &keys) {
        return condition;
    }
    let cursor = keys.iter().map(|(key, operand, value)| CursorKey {
        key,
        column: operand.expr.clone(),
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
    if has_nul(value) {
        return compare::compare(params, operand, op, (value, None));
    }
    let right = param::after(params, index, &operand.class, value);
    let is_read = operand.class.value(value).is_some();
    if is_read { operand.compare(op, right) } else { operand.to_text().compare(op, right) }
}

/// Compares all keys at once, so that a scan of an index on them can start at the row. Returns `None` unless there are several
/// keys that have the same direction, cannot be NULL, and compare by built-in operators in the types of their columns.
fn after_row(params: &mut Params<Param>, keys: &[KeyOperand<'_>]) -> Option<Expr> {
    let [(first, ..), _, ..] = keys else { return None };
    let plain = |(key, operand, value): &KeyOperand<'_>| {
        let is_alike = !key.nullable && key.direction == first.direction;
        is_alike && operand.class.schema().is_none() && operand.class.value(value).is_some()
    };
    if !keys.iter().all(plain) {
        return None;
    }
    let left = Expr::tuple(keys.iter().map(|(_, operand, _)| operand.expr.clone()));
    let right = keys.iter().enumerate();
    let right: Vec<_> = right
        .map(|(index, (_, operand, value))| param::after(params, index, &operand.class, value))
        .collect();
    let right = Expr::tuple(right);
    let op = if first.direction == Direction::Asc { CompareOp::Gt } else { CompareOp::Lt };
    Some(operator(left, op, None, right))
}
