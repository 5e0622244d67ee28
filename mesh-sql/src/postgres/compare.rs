//! Comparisons with values of the query.

use sea_query::extension::postgres::PgFunc;
use sea_query::{Expr, ExprTrait as _};

use super::Operand;
use super::Param;
use super::type_class::{TypeClass, value_text};
use crate::dialect;
use crate::param;
use crate::statement::{Params, ValueOrInput};
use mesh_plan::Value;
use mesh_plan::plan::CompareOp;

/// Compares with a value.
pub(super) fn compare(
    params: &mut Params<'_, Param>,
    left: &Operand,
    op: CompareOp,
    right: ValueOrInput<'_>,
) -> Expr {
    match right.0 {
        Value::Text(text) => match text.split_once('\0') {
            Some((before, _)) => compare_with_nul(params, left, op, before),
            None => dialect::compare(params, left, op, right),
        },
        _ => dialect::compare(params, left, op, right),
    }
}

/// Compares with a text that contains the character NUL, which the database cannot store. Such a text sorts directly after its
/// part before the NUL.
fn compare_with_nul(params: &mut Params<'_, Param>, left: &Operand, op: CompareOp, before: &str) -> Expr {
    let before = Value::Text(before.to_owned());
    match op {
        CompareOp::Eq => never(left),
        CompareOp::Ne => never(left).not(),
        CompareOp::Gt | CompareOp::Gte => compare(params, left, CompareOp::Gt, (&before, None)),
        CompareOp::Lt | CompareOp::Lte => compare(params, left, CompareOp::Lte, (&before, None)),
    }
}

/// Returns a condition that is false, but unknown for NULL.
pub(super) fn never(left: &Operand) -> Expr {
    let text = left.to_text();
    text.compare(CompareOp::Ne, text.expr.clone())
}

/// Tests whether a column equals one of several values. They are a list if all compare in the same type; otherwise they are
/// compared as text, or numbers one by one.
pub(super) fn is_in(
    params: &mut Params<'_, Param>,
    left: &Operand,
    values: &[ValueOrInput<'_>],
    negated: bool,
) -> Expr {
    let known: Vec<&Value> = values.iter().map(|(value, _)| *value).collect();
    let ty = param::shared_type(&left.class, &known);
    let is_number = matches!(
        left.class,
        TypeClass::Integer(_) | TypeClass::Numeric | TypeClass::Real4 | TypeClass::Real8
    );
    if ty.is_none() && is_number {
        // The numbers have several types, none of which can represent all of them.
        let parts = values.iter().map(|value| compare(params, left, CompareOp::Eq, *value));
        let any = parts.reduce(Expr::or).unwrap_or_else(|| never(left));
        return if negated { any.not() } else { any };
    }
    let column = if ty.is_some() { left.clone() } else { left.to_text() };
    if ty.is_none() && known.iter().all(|value| value_text(value).is_none()) {
        return if negated { never(left).not() } else { never(left) };
    }
    any_or_all(&column, param::list(params, &left.class, ty, values), negated)
}

/// Tests whether a column equals one value of an array, or no value of it if `negated` is set.
pub(super) fn any_or_all(column: &Operand, list: Expr, negated: bool) -> Expr {
    if negated {
        column.compare(CompareOp::Ne, PgFunc::all(list).into())
    } else {
        column.compare(CompareOp::Eq, PgFunc::any(list).into())
    }
}
