//! `ORDER BY` clauses. The position of NULL is explicit only if it differs from the database's default, because an unnecessary
//! one prevents the use of an index.

use mesh_ql::{Direction, Nulls};
use sea_query::{Expr, NullOrdering, Order, OrderedStatement};

use super::dialect::{Dialect, Operands};
use mesh_plan::plan::SortKey;

/// A key of `ORDER BY`.
#[derive(Clone)]
pub(super) struct SortTerm {
    expr: Expr,
    order: Order,
    nulls: Option<NullOrdering>,
}

/// Returns the keys of `ORDER BY`.
pub(super) fn sort_terms<'a, D: Dialect>(
    operands: &'a Operands<'a, D>,
    order: &'a [SortKey],
) -> impl Iterator<Item = SortTerm> + 'a {
    order.iter().map(|key| {
        let is_ascending = key.direction == Direction::Asc;
        let default_first = is_ascending == D::NULL_IS_SMALLEST;
        let nulls = match key.nulls {
            Nulls::First if key.nullable && !default_first => Some(NullOrdering::First),
            Nulls::Last if key.nullable && default_first => Some(NullOrdering::Last),
            Nulls::First | Nulls::Last => None,
        };
        let expr = operands(&key.source).comparable().expr;
        SortTerm { expr, order: if is_ascending { Order::Asc } else { Order::Desc }, nulls }
    })
}

/// Adds the keys to a statement or a window.
pub(super) fn order_by(statement: &mut impl OrderedStatement, terms: impl IntoIterator<Item = SortTerm>) {
    for SortTerm { expr, order, nulls } in terms {
        match nulls {
            Some(nulls) => statement.order_by_expr_with_nulls(expr, order, nulls),
            None => statement.order_by_expr(expr, order),
        };
    }
}
