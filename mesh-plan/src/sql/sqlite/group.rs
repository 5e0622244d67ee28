//! Groups as a subquery, so that they are filtered, ordered and paged like rows.

use mesh_ql::AggregateFn;
use sea_query::{Asterisk, Expr, Func, Query, SelectStatement};

use super::{custom, functions};
use crate::plan::{Aggregate, ColumnSource, Grouping};
use crate::sql::predicate::Columns;

/// The alias of the groups.
const GROUPS: &str = "g";

/// Returns a statement over the groups of `rows`, which has a table and conditions.
pub(super) fn fold(mut rows: SelectStatement, columns: &Columns<'_>, grouping: &Grouping) -> SelectStatement {
    for (index, key) in grouping.keys.iter().enumerate() {
        let key = columns(&ColumnSource::Column(key.clone()));
        rows.expr_as(key.clone(), key_name(index)).add_group_by([key]);
    }
    for (index, aggregate) in grouping.aggregates.iter().enumerate() {
        rows.expr_as(call(columns, aggregate), aggregate_name(index));
    }
    Query::select().from_subquery(rows, GROUPS).take()
}

/// Returns a column of the groups.
pub(super) fn column(grouping: &Grouping, source: &ColumnSource) -> Expr {
    let name = match source {
        ColumnSource::Aggregate(index) => aggregate_name(*index),
        ColumnSource::Column(column) => {
            key_name(grouping.keys.iter().position(|key| key == column).unwrap_or_default())
        }
    };
    Expr::col((GROUPS, name))
}

fn key_name(index: usize) -> String {
    format!("k{index}")
}

fn aggregate_name(index: usize) -> String {
    format!("a{index}")
}

fn call(columns: &Columns<'_>, aggregate: &Aggregate) -> Expr {
    let Some(column) = &aggregate.column else { return Func::count(Expr::col(Asterisk)).into() };
    let column = columns(&ColumnSource::Column(column.clone()));
    let call = match (aggregate.function, aggregate.distinct) {
        (AggregateFn::Count, false) => Func::count(column),
        (AggregateFn::Count, true) => Func::count_distinct(column),
        (AggregateFn::Sum, false) => Func::cust(functions::SUM).arg(column),
        (AggregateFn::Sum, true) => custom::over_distinct(functions::SUM, column),
        (AggregateFn::Avg, false) => Func::avg(column),
        (AggregateFn::Avg, true) => custom::over_distinct("AVG", column),
        // Equal values do not change the least and the greatest.
        (AggregateFn::Min, _) => Func::min(column),
        (AggregateFn::Max, _) => Func::max(column),
    };
    call.into()
}
