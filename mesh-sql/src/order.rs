//! `ORDER BY` clauses. The position of NULL is explicit only if it differs from the database's default, because an unnecessary
//! one prevents the use of an index.

use mesh_ql::{Direction, Nulls};
use sea_query::{Expr, NullOrdering, Order, OrderedStatement};

use super::dialect::{Dialect, Operands};
use mesh_plan::plan::SortKey;

/// A key of `ORDER BY`.
#[derive(Clone)]
pub struct SortTerm {
    expr: Expr,
    order: Order,
    nulls: Option<NullOrdering>,
}

/// Returns the keys of `ORDER BY`. At their end are the stored values of those keys of which different values compare as equal,
/// so that the order is total.
pub(super) fn sort_terms<'a, D: Dialect>(
    operands: &'a Operands<'a, D>,
    order: &'a [SortKey],
) -> impl Iterator<Item = SortTerm> + 'a {
    let terms = order.iter().map(|key| {
        let default_first = (key.direction == Direction::Asc) == D::NULL_IS_SMALLEST;
        let nulls = match key.nulls {
            Nulls::First if key.nullable && !default_first => Some(NullOrdering::First),
            Nulls::Last if key.nullable && default_first => Some(NullOrdering::Last),
            Nulls::First | Nulls::Last => None,
        };
        let expr = operands(&key.source).comparable().expr;
        SortTerm { expr, order: sql_order(key), nulls }
    });
    let ties = order.iter().filter_map(|key| {
        let expr = operands(&key.source).as_stored()?.expr;
        Some(SortTerm { expr, order: sql_order(key), nulls: None })
    });
    terms.chain(ties)
}

fn sql_order(key: &SortKey) -> Order {
    match key.direction {
        Direction::Asc => Order::Asc,
        Direction::Desc => Order::Desc,
    }
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
