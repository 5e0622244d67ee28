//! Calls of aggregate functions.

use mesh_ql::AggregateFn;
use sea_query::{Expr, ExprTrait as _};

use super::Operand;
use super::type_class::TypeClass;
use crate::custom::{aggregate, cast, count_rows, integer_sum};
use mesh_plan::plan::Aggregate;

const COUNT: &str = "COUNT";
const SUM: &str = "SUM";
/// The template of an argument over distinct values.
const DISTINCT: &str = "DISTINCT ?";

/// Lowers a call of an aggregate function. Sums of integers fail if they do not fit 64 bits. Averages are computed from sums,
/// because the database rounds its own averages to a few decimal places.
pub(super) fn lower(call: &Aggregate, column: Option<Operand>) -> Operand {
    let Some(value) = column.map(Operand::complete) else {
        return Operand::new(count_rows(), TypeClass::Integer);
    };
    let has_nondeterministic_collation = value.has_nondeterministic_collation;
    let (number, sum_class) = match &value.class {
        TypeClass::Boolean | TypeClass::Integer | TypeClass::Unsigned | TypeClass::BigUnsigned => {
            (value.expr.clone(), TypeClass::Integer)
        }
        TypeClass::Bit => (cast(value.expr.clone(), "UNSIGNED"), TypeClass::Integer),
        TypeClass::Decimal => (value.expr.clone(), TypeClass::Decimal),
        TypeClass::Single | TypeClass::Double => (value.expr.clone(), TypeClass::Double),
        _ => (cast(value.to_text().expr, "DOUBLE"), TypeClass::Double),
    };
    let distinct = call.distinct.then_some(DISTINCT);
    let over = |function: &'static str, value: Expr| aggregate(function, value, distinct);
    let (expr, class) = match call.function {
        AggregateFn::Count if call.distinct => (over(COUNT, value.comparable().expr), TypeClass::Integer),
        AggregateFn::Count => (over(COUNT, value.expr), TypeClass::Integer),
        AggregateFn::Sum if sum_class == TypeClass::Integer => (integer_sum(over(SUM, number)), sum_class),
        AggregateFn::Sum => (over(SUM, number), sum_class),
        AggregateFn::Avg => {
            let sum = cast(over(SUM, number.clone()), "DOUBLE");
            (sum.div(over(COUNT, number)), TypeClass::Double)
        }
        AggregateFn::Min | AggregateFn::Max => {
            let value = value.comparable();
            let name = if call.function == AggregateFn::Min { "MIN" } else { "MAX" };
            // Duplicates do not change the minimum or the maximum.
            (aggregate(name, value.expr, None), value.class)
        }
    };
    Operand { expr, class, has_nondeterministic_collation }
}
