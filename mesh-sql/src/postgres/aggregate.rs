//! Calls of aggregate functions.

use mesh_ql::AggregateFn;
use sea_query::{Expr, ExprTrait as _};

use super::Operand;
use super::type_class::TypeClass;
use crate::custom::{aggregate, built_in, cast, count_rows};
use mesh_plan::plan::Aggregate;

const COUNT: &str = "pg_catalog.count";
const SUM: &str = "pg_catalog.sum";

/// Lowers a call of an aggregate function. Sums of integers are cast to the type that a sum may have, which fails if they do
/// not fit. Averages are computed from sums, because the database rounds its own averages differently.
pub(super) fn lower(call: &Aggregate, column: Option<Operand>) -> Operand {
    let integer = || TypeClass::Integer("int8");
    let Some(value) = column else { return Operand::new(count_rows(), integer()) };
    let has_nondeterministic_collation = value.has_nondeterministic_collation;
    let (number, sum_class) = match &value.class {
        TypeClass::Integer(_) => (value.expr.clone(), integer()),
        TypeClass::Numeric => (value.expr.clone(), TypeClass::Numeric),
        TypeClass::Real8 => (value.expr.clone(), TypeClass::Real8),
        TypeClass::Real4 => (cast(value.expr.clone(), "float8"), TypeClass::Real8),
        _ => (cast(value.to_text().expr, "numeric"), TypeClass::Numeric),
    };
    let distinct = call.distinct.then_some("DISTINCT $1");
    let over = |function, value: Expr| aggregate(function, value, distinct);
    let (expr, class) = match call.function {
        AggregateFn::Count if call.distinct => (over(COUNT, value.comparable().expr), integer()),
        AggregateFn::Count => (over(COUNT, value.expr), integer()),
        AggregateFn::Sum if sum_class == integer() => (cast(over(SUM, number), "int8"), sum_class),
        AggregateFn::Sum => (over(SUM, number), sum_class),
        AggregateFn::Avg => {
            let sum = cast(over(SUM, number.clone()), "float8");
            let count = cast(over(COUNT, number), "float8");
            (sum.binary(built_in("/"), count), TypeClass::Real8)
        }
        AggregateFn::Min | AggregateFn::Max => {
            let value = match value.class {
                TypeClass::Boolean | TypeClass::Uuid | TypeClass::Bytes => value.to_text(),
                _ => value.comparable(),
            };
            let name = if call.function == AggregateFn::Min { "min" } else { "max" };
            let name = [value.class.schema().unwrap_or("pg_catalog"), ".", name].concat();
            // Duplicates do not change the minimum or the maximum.
            (aggregate(name, value.expr, None), value.class)
        }
    };
    Operand { expr, class, has_nondeterministic_collation }
}
