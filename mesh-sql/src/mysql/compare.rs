//! Comparisons with values of the query.

use sea_query::{Expr, ExprTrait as _};

use super::Operand;
use super::Param;
use super::type_class::TypeClass;
use crate::class::{Class as _, Form};
use crate::custom::cast;
use crate::dialect::ValueOrInput;
use crate::param;
use crate::predicate;
use crate::statement::Params;
use mesh_plan::CompareOp;
use mesh_plan::Value;

/// Compares with a value.
pub(super) fn compare(
    params: &mut Params<Param>,
    left: &Operand,
    op: CompareOp,
    right: ValueOrInput<'_>,
) -> Expr {
    let (value, _) = right;
    if *value == Value::Null {
        return Expr::null();
    }
    match left.class.read(value) {
        Some((_, form)) => {
            let param = param::value_or_input(params, &left.class, Some(form), right);
            predicate::compare(in_form(left, form), op, param)
        }
        None => left.to_text().compare(op, param::value_or_input(params, &left.class, None, right)),
    }
}

/// Converts a value to be compared in that form.
fn in_form(left: &Operand, form: Form) -> Expr {
    match (&left.class, form) {
        (TypeClass::JsonNumber, Form::Cast(ty)) => cast(left.expr.clone(), ty),
        (TypeClass::JsonNumber, Form::Bound) => cast(left.expr.clone(), "DOUBLE"),
        _ => left.expr.clone(),
    }
}

/// Tests whether a column equals one of several values. They are a list if all compare in the same form; otherwise each is
/// compared on its own.
pub(super) fn is_in(
    params: &mut Params<Param>,
    left: &Operand,
    values: &[ValueOrInput<'_>],
    negated: bool,
) -> Expr {
    let mut forms = values.iter().map(|(value, _)| left.class.read(value).map(|(_, form)| form));
    let first = forms.next().flatten();
    if first.is_some() && forms.all(|form| form == first) {
        let list = values.iter().map(|value| param::value_or_input(params, &left.class, first, *value));
        let left = first.map_or_else(|| left.expr.clone(), |form| in_form(left, form));
        return if negated { left.is_not_in(list) } else { left.is_in(list) };
    }
    let parts = values.iter().map(|value| compare(params, left, CompareOp::Eq, *value));
    let any = parts.reduce(Expr::or).unwrap_or_else(Expr::null);
    if negated { any.not() } else { any }
}
