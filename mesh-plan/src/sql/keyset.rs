//! Where does a page start? The rows after a cursor, exact for mixed directions, ties and NULLs.

use mesh_ql::{Direction, Nulls};
use sea_query::{Expr, ExprTrait};

use super::bound;
use super::predicate::Names;
use crate::Value;
use crate::plan::SortKey;

/// The rows that follow the one with these sort values. With no keys there is one row, and nothing after it.
pub(super) fn after(names: &Names<'_>, order: &[SortKey], values: &[Value]) -> Expr {
    let keys: Vec<_> = order.iter().zip(values).collect();
    keys.into_iter()
        .rev()
        .fold(None, |rest, (key, value)| Some(after_key(names, key, value, rest)))
        .unwrap_or_else(|| Expr::val(false))
}

/// After a value of one key: beyond it, or equal to it and after the `rest` of the keys.
fn after_key(names: &Names<'_>, key: &SortKey, value: &Value, rest: Option<Expr>) -> Expr {
    let column = || names.expr(&key.source);
    let nulls_follow = key.nullable && key.nulls == Nulls::Last;
    if *value == Value::Null {
        let tied = rest.map(|rest| column().is_null().and(rest));
        return match (key.nulls, tied) {
            (Nulls::Last, tied) => tied.unwrap_or_else(|| Expr::val(false)),
            (Nulls::First, None) => column().is_not_null(),
            (Nulls::First, Some(tied)) => column().is_not_null().or(tied),
        };
    }
    let value = || Expr::val(bound(value));
    let beyond = match key.direction {
        Direction::Asc => column().gt(value()),
        Direction::Desc => column().lt(value()),
    };
    match (rest, nulls_follow) {
        (None, false) => beyond,
        (None, true) => beyond.or(column().is_null()),
        // In this form an index on the key can start right at the value.
        (Some(rest), false) => {
            let from = match key.direction {
                Direction::Asc => column().gte(value()),
                Direction::Desc => column().lte(value()),
            };
            from.and(beyond.or(rest))
        }
        (Some(rest), true) => beyond.or(column().is_null()).or(column().eq(value()).and(rest)),
    }
}
