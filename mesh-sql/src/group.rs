//! Groups in a subquery, so that they can be filtered, ordered and paged like rows.

use sea_query::{Expr, Query, SelectStatement};

use super::dialect::{Dialect, OperandOf, Operands};
use super::operand::Operand;
use mesh_plan::plan::{Aggregate, ColumnSource, Grouping};

/// The alias of the groups.
const GROUPS: &str = "g";

/// Returns a select, still without columns, from the groups of `rows`, which has a table and conditions.
pub(super) fn fold<D: Dialect>(
    dialect: &D,
    rows: SelectStatement,
    operands: &Operands<'_, D>,
    grouping: &Grouping,
) -> SelectStatement {
    named(groups(dialect, rows, operands, grouping))
}

/// Returns a select, still without columns, from groups under the alias that their operands use.
pub(super) fn named(groups: SelectStatement) -> SelectStatement {
    Query::select().from_subquery(groups, GROUPS).take()
}

/// Returns the groups of `rows`.
pub(super) fn groups<D: Dialect>(
    dialect: &D,
    mut rows: SelectStatement,
    operands: &Operands<'_, D>,
    grouping: &Grouping,
) -> SelectStatement {
    for (index, source) in grouping.keys.iter().enumerate() {
        if let ColumnSource::Bucket(bucket) = source
            && let Some(zone) = &bucket.zone
        {
            rows.and_where(dialect.has_zone(zone));
        }
        let key = key(dialect, operands, source).expr;
        rows.expr_as(key.clone(), key_name(index)).add_group_by([key]);
    }
    for (index, call) in grouping.aggregates.iter().enumerate() {
        rows.expr_as(aggregate(dialect, operands, call).expr, aggregate_name(index));
    }
    if grouping.keys.is_empty() && grouping.aggregates.is_empty() {
        rows.expr_as(Expr::Constant(1.into()), key_name(0));
    }
    rows
}

/// Returns the operand for a value of the groups. `operands` returns the operands of the rows.
pub(super) fn operand<D: Dialect>(
    dialect: &D,
    operands: &Operands<'_, D>,
    grouping: &Grouping,
    source: &ColumnSource,
) -> OperandOf<D> {
    let (name, value) = match source {
        ColumnSource::Aggregate(index) => {
            let value = grouping.aggregates.get(*index).map(|call| aggregate(dialect, operands, call));
            (aggregate_name(*index), value.unwrap_or_else(|| Operand::of(Expr::null(), None)))
        }
        ColumnSource::Column(_) | ColumnSource::Bucket(_) => {
            let index = grouping.keys.iter().position(|key| key == source).unwrap_or_default();
            (key_name(index), key(dialect, operands, source))
        }
        // The planner allows related records only in reads of records.
        ColumnSource::Related { .. }
        | ColumnSource::Exists(_)
        | ColumnSource::Json { .. }
        | ColumnSource::Relevance(_) => {
            return Operand::of(Expr::null(), None);
        }
    };
    value.with_expr(Expr::col((GROUPS, name)))
}

/// Returns the value of a group key for a row.
fn key<D: Dialect>(dialect: &D, operands: &Operands<'_, D>, source: &ColumnSource) -> OperandOf<D> {
    match source {
        ColumnSource::Bucket(bucket) => {
            let value = operands(&ColumnSource::Column(bucket.column.clone())).complete();
            dialect.bucket(value, bucket)
        }
        source => operands(source).complete().comparable(),
    }
}

/// Calls an aggregate function over rows.
pub(super) fn aggregate<D: Dialect>(
    dialect: &D,
    operands: &Operands<'_, D>,
    call: &Aggregate,
) -> OperandOf<D> {
    let column = call.column.as_ref().map(|column| operands(&ColumnSource::Column(column.clone())));
    dialect.aggregate(call, column)
}

fn key_name(index: usize) -> String {
    format!("k{index}")
}

/// Returns the name of the column with an aggregate.
pub(super) fn aggregate_name(index: usize) -> String {
    format!("a{index}")
}
