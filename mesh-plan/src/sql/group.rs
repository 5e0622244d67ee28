//! How are rows folded into groups? A subquery, so that groups are filtered, ordered and paged like rows.

use mesh_ql::AggregateFn;
use sea_query::{Expr, Func, Query, SelectStatement};

use super::functions;
use super::predicate::Names;
use crate::plan::{Aggregate, ColumnSource, Grouping};

/// The alias of the groups.
const GROUPS: &str = "g";

/// A statement over the groups of `rows`, a statement that has its table and its conditions.
pub(super) fn lower(mut rows: SelectStatement, names: &Names<'_>, grouping: &Grouping) -> SelectStatement {
    for (index, key) in grouping.keys.iter().enumerate() {
        let key = names.expr(&ColumnSource::Column(key.clone()));
        rows.expr_as(key.clone(), key_name(index)).add_group_by([key]);
    }
    for (index, aggregate) in grouping.aggregates.iter().enumerate() {
        rows.expr_as(computed(names, aggregate), aggregate_name(index));
    }
    let mut groups = Query::select();
    groups.from_subquery(rows, GROUPS);
    groups
}

/// What a group has of that source.
pub(super) fn expr(grouping: &Grouping, source: &ColumnSource) -> Expr {
    match source {
        ColumnSource::Aggregate(index) => Expr::col((GROUPS, aggregate_name(*index))),
        ColumnSource::Column(column) => {
            let index = grouping.keys.iter().position(|key| key == column);
            Expr::col((GROUPS, key_name(index.unwrap_or_default())))
        }
    }
}

fn key_name(index: usize) -> String {
    format!("k{index}")
}

fn aggregate_name(index: usize) -> String {
    format!("a{index}")
}

fn computed(names: &Names<'_>, aggregate: &Aggregate) -> Expr {
    let Some(column) = &aggregate.column else { return Func::count(Expr::col(sea_query::Asterisk)).into() };
    let column = names.expr(&ColumnSource::Column(column.clone()));
    match (aggregate.function, aggregate.distinct) {
        (AggregateFn::Count, false) => Func::count(column).into(),
        (AggregateFn::Count, true) => Func::count_distinct(column).into(),
        (AggregateFn::Sum, false) => Func::cust(functions::SUM).arg(column).into(),
        (AggregateFn::Sum, true) => {
            Func::cust(functions::SUM).arg(Expr::cust_with_expr("DISTINCT ?", column)).into()
        }
        (AggregateFn::Avg, false) => Func::avg(column).into(),
        (AggregateFn::Avg, true) => Expr::cust_with_expr("AVG(DISTINCT ?)", column),
        // Equal values change neither.
        (AggregateFn::Min, _) => Func::min(column).into(),
        (AggregateFn::Max, _) => Func::max(column).into(),
    }
}
