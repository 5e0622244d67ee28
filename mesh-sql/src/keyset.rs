//! The condition on the rows that follow a cursor, exact for mixed directions, ties and NULLs.

use mesh_ql::{Direction, Nulls};
use sea_query::{Expr, ExprTrait as _};

use mesh_plan::Value;
use mesh_plan::plan::{CompareOp, SortKey};

use crate::class::Class;
use crate::dialect::{Dialect, Operands, ParamsOf};
use crate::operand::Operand;
use crate::param;

/// A sort key with the operand for its values and the cursor's value.
struct CursorKey<'a, C> {
    key: &'a SortKey,
    /// The index of the value in the cursor.
    index: usize,
    operand: Operand<C>,
    value: &'a Value,
}

/// Returns the condition on the rows that follow the row with these sort values. Without keys there is only one row, so no row
/// follows. The text of the condition depends only on which of the values are NULL and on the types in which they compare.
pub(super) fn after<D: Dialect>(
    dialect: &D,
    params: &mut ParamsOf<'_, D>,
    operands: &Operands<'_, D>,
    order: &[SortKey],
    values: &[Value],
) -> Expr {
    let keys = order.iter().zip(values).enumerate().map(|(index, (key, value))| {
        let operand = operands(&key.source);
        let operand = if operand.class.has_order() { operand } else { operand.to_text() };
        CursorKey { key, index, operand, value }
    });
    let mut keys: Vec<CursorKey<'_, D::Class>> = keys.collect();
    if let Some(condition) = after_row::<D>(params, &keys) {
        return condition;
    }
    let ties = keys.iter().filter_map(|it| Some(CursorKey { operand: it.operand.as_stored()?, ..*it }));
    keys.extend(ties.collect::<Vec<_>>());
    let condition = keys.iter().rev().fold(None, |rest, key| {
        Some(match key.value {
            Value::Null => after_null(key, rest),
            _ => after_value(key, rest, |op| key.compare(dialect, params, op)),
        })
    });
    condition.unwrap_or_else(never)
}

fn never() -> Expr {
    Expr::Constant(false.into())
}

impl<C: Class> CursorKey<'_, C> {
    /// Compares the key with the cursor's value.
    fn compare<D: Dialect<Class = C>>(
        &self,
        dialect: &D,
        params: &mut ParamsOf<'_, D>,
        op: CompareOp,
    ) -> Expr {
        let Self { index, operand, value, .. } = self;
        if !C::is_storable(value) {
            return dialect.compare(params, operand, op, (value, None));
        }
        let right = param::after(params, *index, &operand.class, value);
        let is_read = operand.class.read(value).is_some();
        if is_read { operand.compare(op, right) } else { operand.to_text().compare(op, right) }
    }

    /// Returns the key in a form that is NULL only if the stored value is.
    fn or_null(&self) -> Expr {
        self.operand.class.or_null(self.operand.expr.clone())
    }
}

/// Returns the condition on the rows after a NULL: rows with a value if NULLs come first, and other rows with NULL that meet
/// `rest`, the condition on the remaining keys.
fn after_null<C: Class>(key: &CursorKey<'_, C>, rest: Option<Expr>) -> Expr {
    let tied = rest.map(|rest| key.or_null().is_null().and(rest));
    match (key.key.nulls, tied) {
        (Nulls::Last, tied) => tied.unwrap_or_else(never),
        (Nulls::First, None) => key.or_null().is_not_null(),
        (Nulls::First, Some(tied)) => key.or_null().is_not_null().or(tied),
    }
}

/// Returns the condition on the rows after a value: rows with a value beyond it, rows with NULL if NULLs come last, and rows
/// with an equal value that meet `rest`, the condition on the remaining keys.
fn after_value<C: Class>(
    key: &CursorKey<'_, C>,
    rest: Option<Expr>,
    mut compare: impl FnMut(CompareOp) -> Expr,
) -> Expr {
    let (beyond, from) = match key.key.direction {
        Direction::Asc => (CompareOp::Gt, CompareOp::Gte),
        Direction::Desc => (CompareOp::Lt, CompareOp::Lte),
    };
    let nulls_follow = key.key.nullable && key.key.nulls == Nulls::Last;
    match (rest, nulls_follow) {
        (None, false) => compare(beyond),
        (None, true) => compare(beyond).or(key.or_null().is_null()),
        // In this form, a scan of an index on the key can start at the value.
        (Some(rest), false) => compare(from).and(compare(beyond).or(rest)),
        (Some(rest), true) => {
            compare(beyond).or(key.or_null().is_null()).or(compare(CompareOp::Eq).and(rest))
        }
    }
}

/// Compares all keys at once, so that a scan of an index on them can start at the row. Returns `None` unless there are several
/// keys that have the same direction, cannot be NULL, and compare in the types of their columns.
fn after_row<D: Dialect>(params: &mut ParamsOf<'_, D>, keys: &[CursorKey<'_, D::Class>]) -> Option<Expr> {
    let [first, _, ..] = keys else { return None };
    let plain = |it: &CursorKey<'_, D::Class>| {
        let is_alike = !it.key.nullable && it.key.direction == first.key.direction;
        is_alike && it.operand.class.compares_in_rows() && it.operand.class.read(it.value).is_some()
    };
    if !keys.iter().all(plain) {
        return None;
    }
    let left = Expr::tuple(keys.iter().map(|it| it.operand.expr.clone()));
    let right = keys.iter().map(|it| param::after(params, it.index, &it.operand.class, it.value));
    let right: Vec<_> = right.collect();
    let op = if first.key.direction == Direction::Asc { CompareOp::Gt } else { CompareOp::Lt };
    Some(first.operand.class.compare(left, op, Expr::tuple(right)))
}
