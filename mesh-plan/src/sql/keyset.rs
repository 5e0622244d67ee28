//! Where does a page start? The rows after a cursor, exact for mixed directions, ties and NULLs.

use mesh_ql::{Direction, Nulls};
use sea_query::{Expr, ExprTrait};

use super::predicate::Names;
use super::slot;
use crate::plan::SortKey;

/// The rows that follow the one which has NULL in these of its sort values; the others are left open. With no keys
/// there is one row, and nothing after it.
pub(super) fn after(names: &Names<'_>, order: &[SortKey], nulls: &[bool]) -> Expr {
    let keys: Vec<_> = order.iter().zip(nulls).enumerate().collect();
    keys.into_iter()
        .rev()
        .fold(None, |rest, (place, (key, is_null))| {
            let value = (!is_null).then(|| Expr::val(slot::after(place)));
            Some(after_key(names, key, value.as_ref(), rest))
        })
        .unwrap_or_else(|| Expr::val(false))
}

/// The same rows in two parts, one after the other, where NULLs come after the values of the first key: those with
/// a value, and those with NULL. An index has a place where either part begins, but none for a condition of both,
/// with which every page would be looked for from the first row on. `None` where one part is enough.
pub(super) fn parts(names: &Names<'_>, order: &[SortKey], nulls: &[bool]) -> Option<[Expr; 2]> {
    let (key, rest) = order.split_first()?;
    if !key.nullable || key.nulls != Nulls::Last || nulls.first() != Some(&false) {
        return None;
    }
    let with_value = SortKey { nullable: false, ..key.clone() };
    let keys: Vec<SortKey> = std::iter::once(with_value).chain(rest.iter().cloned()).collect();
    Some([after(names, &keys, nulls), names.expr(&key.source).is_null()])
}

/// After a value of one key, or NULL: beyond it, or equal to it and after the `rest` of the keys.
fn after_key(names: &Names<'_>, key: &SortKey, value: Option<&Expr>, rest: Option<Expr>) -> Expr {
    let column = || names.expr(&key.source);
    let nulls_follow = key.nullable && key.nulls == Nulls::Last;
    let Some(value) = value else {
        let tied = rest.map(|rest| column().is_null().and(rest));
        return match (key.nulls, tied) {
            (Nulls::Last, tied) => tied.unwrap_or_else(|| Expr::val(false)),
            (Nulls::First, None) => column().is_not_null(),
            (Nulls::First, Some(tied)) => column().is_not_null().or(tied),
        };
    };
    let value = || value.clone();
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
