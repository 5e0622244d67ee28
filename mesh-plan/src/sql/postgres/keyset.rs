//! Pages that start after a cursor.

use mesh_ql::Direction;
use sea_query::{Expr, ExprTrait as _};

use super::compare;
use super::dialect::Postgres;
use super::operand::Operand;
use super::param::{self, Param, has_nul};
use crate::Value;
use crate::plan::{CompareOp, SortKey};
use crate::sql::dialect::Operands;
use crate::sql::keyset::{self, CursorKey};
use crate::sql::predicate;
use crate::sql::statement::Params;

/// Returns the condition on the rows that follow the row with these sort values.
pub(super) fn after(
    params: &mut Params<Param>,
    operands: &Operands<'_, Postgres>,
    order: &[SortKey],
    values: &[Value],
) -> Expr {
    let keys = order.iter().zip(values);
    let keys: Vec<_> =
        keys.map(|(key, value)| Key { key, operand: operands(&key.source).comparable(), value }).collect();
    if let Some(condition) = after_row(params, &keys) {
        return condition;
    }
    let cursor = keys.iter().map(|Key { key, operand, value }| CursorKey {
        key,
        column: operand.expr.clone(),
        is_null: **value == Value::Null,
    });
    keyset::after(cursor, |index, _, op| {
        keys.get(index).map_or_else(Expr::null, |key| key.compare(params, index, op))
    })
}

/// A sort key with the cursor's value for it.
struct Key<'a> {
    key: &'a SortKey,
    operand: Operand,
    value: &'a Value,
}

impl Key<'_> {
    fn compare(&self, params: &mut Params<Param>, index: usize, op: CompareOp) -> Expr {
        if has_nul(self.value) {
            return compare::compare(params, &self.operand, op, self.value);
        }
        let right = param::after(params, index, &self.operand.class, self.value);
        let is_read = self.operand.class.value(self.value).is_some();
        let left = if is_read { self.operand.expr.clone() } else { self.operand.to_text().expr };
        predicate::compare(left, op, right)
    }
}

/// Compares all keys at once if they run the same way and none can be NULL: an index on them can start at the row.
fn after_row(params: &mut Params<Param>, keys: &[Key<'_>]) -> Option<Expr> {
    let [Key { key: first, .. }, _, ..] = keys else { return None };
    let plain = |Key { key, operand, value }: &Key<'_>| {
        !key.nullable && key.direction == first.direction && operand.class.value(value).is_some()
    };
    if !keys.iter().all(plain) {
        return None;
    }
    let left = Expr::tuple(keys.iter().map(|key| key.operand.expr.clone()));
    let right = keys.iter().enumerate();
    let right: Vec<_> =
        right.map(|(index, key)| param::after(params, index, &key.operand.class, key.value)).collect();
    let right = Expr::tuple(right);
    Some(if first.direction == Direction::Asc { left.gt(right) } else { left.lt(right) })
}
