//! Groups as a subquery, so that they are filtered, ordered and paged like rows.

use mesh_ql::AggregateFn;
use sea_query::{Asterisk, Expr, ExprTrait as _, Func, SelectStatement};

use super::class::Class;
use super::custom::{aggregate, cast};
use super::operand::{Operand, Operands};
use crate::plan::{Aggregate, ColumnSource, Grouping};

/// The alias of the groups.
pub(super) const GROUPS: &str = "g";

/// Folds the rows of a statement that has a table and conditions.
pub(super) fn fold(rows: &mut SelectStatement, operands: &Operands<'_>, grouping: &Grouping) {
    for (index, key) in grouping.keys.iter().enumerate() {
        let key = key_of(operands, key).expr;
        rows.expr_as(key.clone(), key_name(index)).add_group_by([key]);
    }
    for (index, aggregate) in grouping.aggregates.iter().enumerate() {
        rows.expr_as(call(operands, aggregate).expr, aggregate_name(index));
    }
    if grouping.keys.is_empty() && grouping.aggregates.is_empty() {
        rows.expr_as(Expr::Constant(1.into()), key_name(0));
    }
}

/// Returns a value of the groups.
pub(super) fn operand(operands: &Operands<'_>, grouping: &Grouping, source: &ColumnSource) -> Operand {
    let (name, class) = match source {
        ColumnSource::Aggregate(index) => {
            let class = grouping.aggregates.get(*index).map(|aggregate| call(operands, aggregate).class);
            (aggregate_name(*index), class.unwrap_or(Class::Unknown))
        }
        ColumnSource::Column(column) => {
            let index = grouping.keys.iter().position(|key| key == column).unwrap_or_default();
            (key_name(index), key_of(operands, column).class)
        }
    };
    Operand { expr: Expr::col((GROUPS, name)), class }
}

fn key_name(index: usize) -> String {
    format!("k{index}")
}

fn aggregate_name(index: usize) -> String {
    format!("a{index}")
}

fn key_of(operands: &Operands<'_>, column: &str) -> Operand {
    operands(&ColumnSource::Column(column.to_owned())).comparable()
}

/// Casts sums of integers to the type that a sum may have, which fails if it does not fit. Averages are made of sums,
/// because those of the database round differently.
fn call(operands: &Operands<'_>, call: &Aggregate) -> Operand {
    let integer = || Class::Integer("int8");
    let Some(column) = &call.column else {
        return Operand { expr: Func::count(Expr::col(Asterisk)).into(), class: integer() };
    };
    let value = operands(&ColumnSource::Column(column.clone()));
    let (number, sum_class) = match &value.class {
        Class::Integer(_) => (value.expr.clone(), integer()),
        Class::Numeric => (value.expr.clone(), Class::Numeric),
        Class::Real8 => (value.expr.clone(), Class::Real8),
        Class::Real4 => (cast(value.expr.clone(), "float8"), Class::Real8),
        _ => (cast(value.to_text().expr, "numeric"), Class::Numeric),
    };
    let over = |function, value: Expr| Expr::from(aggregate(function, value, call.distinct));
    let (expr, class) = match call.function {
        AggregateFn::Count if call.distinct => (over("COUNT", value.comparable().expr), integer()),
        AggregateFn::Count => (over("COUNT", value.expr), integer()),
        AggregateFn::Sum if sum_class == integer() => (cast(over("SUM", number), "int8"), sum_class),
        AggregateFn::Sum => (over("SUM", number), sum_class),
        AggregateFn::Avg => {
            let sum = cast(over("SUM", number.clone()), "float8");
            (sum.div(over("COUNT", number)), Class::Real8)
        }
        AggregateFn::Min | AggregateFn::Max => {
            let value = match value.class {
                Class::Boolean | Class::Uuid | Class::Bytes => value.to_text(),
                _ => value.comparable(),
            };
            let name = if call.function == AggregateFn::Min { "MIN" } else { "MAX" };
            // Equal values do not change the least and the greatest.
            (aggregate(name, value.expr, false).into(), value.class)
        }
    };
    Operand { expr, class }
}
