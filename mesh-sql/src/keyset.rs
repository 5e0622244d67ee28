//! The condition on the rows that follow a cursor, exact for mixed directions, ties and NULLs.

use mesh_ql::{Direction, Nulls};
use sea_query::{Expr, ExprTrait as _};

use mesh_plan::Value;
use mesh_plan::plan::{CompareOp, SortKey};

use crate::class::Class;
use crate::dialect::{Dialect, Operands, ParamsOf};
use crate::operand::Operand;
use crate::param::{self, Param};
use crate::statement::Params;

/// A sort key with the column that it sorts by, and whether the cursor has NULL for it.
pub(super) struct CursorKey<'a> {
    pub(super) key: &'a SortKey,
    pub(super) column: Expr,
    pub(super) is_null: bool,
}

/// Returns the condition on the rows that follow the cursor. Without keys there is only one row, so no row follows. `compare`
/// compares the key at an index with the cursor's value.
pub(super) fn after<'a>(
    keys: impl IntoIterator<Item = CursorKey<'a>>,
    mut compare: impl FnMut(usize, &CursorKey<'a>, CompareOp) -> Expr,
) -> Expr {
    let keys: Vec<_> = keys.into_iter().enumerate().collect();
    let condition = keys.iter().rev().fold(None, |rest, (index, key)| {
        Some(if key.is_null {
            after_null(key, rest)
        } else {
            after_value(key, rest, |op| compare(*index, key, op))
        })
    });
    condition.unwrap_or_else(never)
}

fn never() -> Expr {
    Expr::Constant(false.into())
}

/// Returns the condition on the rows after a NULL: rows with a value if NULLs come first, and other rows with NULL that meet
/// `rest`, the condition on the remaining keys.
fn after_null(key: &CursorKey<'_>, rest: Option<Expr>) -> Expr {
    let tied = rest.map(|rest| key.column.clone().is_null().and(rest));
    match (key.key.nulls, tied) {
        (Nulls::Last, tied) => tied.unwrap_or_else(never),
        (Nulls::First, None) => key.column.clone().is_not_null(),
        (Nulls::First, Some(tied)) => key.column.clone().is_not_null().or(tied),
    }
}

/// Returns the condition on the rows after a value: rows with a value beyond it, rows with NULL if NULLs come last, and rows
/// with an equal value that meet `rest`, the condition on the remaining keys.
fn after_value(key: &CursorKey<'_>, rest: Option<Expr>, mut compare: impl FnMut(CompareOp) -> Expr) -> Expr {
    let (beyond, from) = match key.key.direction {
        Direction::Asc => (CompareOp::Gt, CompareOp::Gte),
        Direction::Desc => (CompareOp::Lt, CompareOp::Lte),
    };
    let nulls_follow = key.key.nullable && key.key.nulls == Nulls::Last;
    match (rest, nulls_follow) {
        (None, false) => compare(beyond),
        (None, true) => compare(beyond).or(key.column.clone().is_null()),
        // In this form, a scan of an index on the key can start at the value.
        (Some(rest), false) => compare(from).and(compare(beyond).or(rest)),
        (Some(rest), true) => {
            compare(beyond).or(key.column.clone().is_null()).or(compare(CompareOp::Eq).and(rest))
        }
    }
}

/// A sort key with its operand and the cursor's value for it.
type KeyOperand<'a, C> = (&'a SortKey, Operand<C>, &'a Value);

/// Returns the condition on the rows that follow the row with these sort values, which are known only at run time.
pub(super) fn after_values<D: Dialect>(
    dialect: &D,
    params: &mut ParamsOf<D>,
    operands: &Operands<'_, D>,
    order: &[SortKey],
    values: &[Value],
) -> Expr {
    let keys = order.iter().zip(values);
    let keys: Vec<KeyOperand<'_, D::Class>> =
        keys.map(|(key, value)| (key, operands(&key.source).comparable(), value)).collect();
    if let Some(condition) = after_row(params, &keys) {
        return condition;
    }
    let cursor = keys.iter().map(|(key, operand, value)| CursorKey {
        key,
        column: operand.class.or_null(operand.expr.clone()),
        is_null: **value == Value::Null,
    });
    after(cursor, |index, _, op| {
        let Some((_, operand, value)) = keys.get(index) else { return Expr::null() };
        if !D::Class::is_storable(value) {
            return dialect.compare(params, operand, op, (value, None));
        }
        let right = param::after(params, index, &operand.class, value);
        let is_read = operand.class.read(value).is_some();
        if is_read { operand.compare(op, right) } else { operand.to_text().compare(op, right) }
    })
}

/// Compares all keys at once, so that a scan of an index on them can start at the row. Returns `None` unless there are several
/// keys that have the same direction, cannot be NULL, and compare in the types of their columns.
fn after_row<C: Class>(params: &mut Params<Param<C>>, keys: &[KeyOperand<'_, C>]) -> Option<Expr> {
    let [(first, operand, _), _, ..] = keys else { return None };
    let plain = |(key, operand, value): &KeyOperand<'_, C>| {
        let is_alike = !key.nullable && key.direction == first.direction;
        is_alike && operand.class.compares_in_rows() && operand.class.read(value).is_some()
    };
    if !keys.iter().all(plain) {
        return None;
    }
    let left = Expr::tuple(keys.iter().map(|(_, operand, _)| operand.expr.clone()));
    let right = keys.iter().enumerate();
    let right: Vec<_> = right
        .map(|(index, (_, operand, value))| param::after(params, index, &operand.class, value))
        .collect();
    let op = if first.direction == Direction::Asc { CompareOp::Gt } else { CompareOp::Lt };
    Some(operand.class.compare(left, op, Expr::tuple(right)))
}
