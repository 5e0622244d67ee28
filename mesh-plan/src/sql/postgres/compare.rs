//! Comparisons with values of the query.

use sea_query::extension::postgres::PgFunc;
use sea_query::{Expr, ExprTrait as _};

use super::operand::Operand;
use super::param::{self, Param};
use super::type_class::{TypeClass, text_of};
use crate::Value;
use crate::plan::CompareOp;
use crate::sql::custom::cast;
use crate::sql::statement::Params;

/// Compares with a value.
pub(super) fn compare(params: &mut Params<Param>, left: &Operand, op: CompareOp, value: &Value) -> Expr {
    if *value == Value::Null {
        return cast(Expr::null(), "bool");
    }
    if let Value::Text(text) = value
        && let Some((before, _)) = text.split_once('\0')
    {
        return compare_with_nul(params, left, op, before);
    }
    match left.class.value(value) {
        Some((text, ty)) => left.compare(op, param::text(params, text, ty)),
        None => left.to_text().compare(op, param::text(params, text_of(value).unwrap_or_default(), "text")),
    }
}

/// The database stores no text with the character NUL. Such a text sorts directly behind the part before it.
fn compare_with_nul(params: &mut Params<Param>, left: &Operand, op: CompareOp, before: &str) -> Expr {
    let before = Value::Text(before.to_owned());
    match op {
        CompareOp::Eq => never(left),
        CompareOp::Ne => never(left).not(),
        CompareOp::Gt | CompareOp::Gte => compare(params, left, CompareOp::Gt, &before),
        CompareOp::Lt | CompareOp::Lte => compare(params, left, CompareOp::Lte, &before),
    }
}

/// Returns a condition that is false, but unknown for NULL.
pub(super) fn never(left: &Operand) -> Expr {
    let text = left.to_text();
    text.compare(CompareOp::Ne, text.expr.clone())
}

/// Looks for a column in a list of values that all compare in the same type, or one by one.
pub(super) fn is_in(params: &mut Params<Param>, left: &Operand, values: &[Value], negated: bool) -> Expr {
    let mut shared: Option<&str> = None;
    let mut texts = Vec::with_capacity(values.len());
    let alike = values.iter().all(|value| match left.class.value(value) {
        Some((text, ty)) if *shared.get_or_insert(ty) == ty => {
            texts.push(text);
            true
        }
        _ => false,
    });
    let (column, ty) = match shared {
        Some(ty) if alike && !ty.is_empty() => (left.clone(), ty),
        // Numbers of several types, none of which can hold all.
        _ if matches!(
            left.class,
            TypeClass::Integer(_) | TypeClass::Numeric | TypeClass::Real4 | TypeClass::Real8
        ) =>
        {
            let parts = values.iter().map(|value| compare(params, left, CompareOp::Eq, value));
            let any = parts.reduce(Expr::or).unwrap_or_else(|| never(left));
            return if negated { any.not() } else { any };
        }
        _ => {
            texts = values.iter().filter_map(text_of).collect();
            (left.to_text(), "text")
        }
    };
    if texts.is_empty() {
        return if negated { never(left).not() } else { never(left) };
    }
    let list = param::text(params, array(&texts), &format!("{ty}[]"));
    if negated {
        column.compare(CompareOp::Ne, PgFunc::all(list).into())
    } else {
        column.compare(CompareOp::Eq, PgFunc::any(list).into())
    }
}

/// Returns the text form of an array.
fn array(texts: &[String]) -> String {
    let quoted = texts.iter().map(|text| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    });
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}
