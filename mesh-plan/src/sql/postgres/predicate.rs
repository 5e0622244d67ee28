//! Single conditions. A value is compared in the type of its column, so that indexes serve, or else as text.

use sea_query::extension::postgres::PgFunc;
use sea_query::{Expr, ExprTrait as _};

use super::class::{Class, text_of};
use super::custom::{cast, ilike, like};
use super::operand::{Operand, Operands};
use super::param::{self, Param};
use crate::Value;
use crate::plan::{ColumnSource, CompareOp, Predicate};
use crate::sql::predicate::{self, Conditions, collate};
use crate::sql::statement::Params;
use crate::value::like as pattern;

/// What a database can do beyond what all of them can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// It has the collation `und-x-icu`, and its default collation would fold ASCII letters only.
    pub icu_folds: bool,
}

/// Lowers a predicate on rows with these operands.
pub(super) fn lower(
    params: &mut Params<Param>,
    features: Features,
    operands: &Operands<'_>,
    predicate: &Predicate,
) -> Expr {
    predicate::lower(&mut Lowering { params, features, operands }, predicate)
}

struct Lowering<'a> {
    params: &'a mut Params<Param>,
    features: Features,
    operands: &'a Operands<'a>,
}

impl Conditions for Lowering<'_> {
    fn column(&self, source: &ColumnSource) -> Expr {
        (self.operands)(source).expr
    }

    fn compare(&mut self, source: &ColumnSource, op: CompareOp, value: &Value) -> Expr {
        compare(self.params, &(self.operands)(source), op, value)
    }

    fn compare_session(&mut self, source: &ColumnSource, op: CompareOp, slot: usize) -> Expr {
        let left = (self.operands)(source);
        let right = param::session(self.params, slot, &left.class);
        predicate::compare(left.holder().expr, op, right)
    }

    fn is_in(&mut self, source: &ColumnSource, values: &[Value], negated: bool) -> Expr {
        is_in(self.params, &(self.operands)(source), values, negated)
    }

    fn like(&mut self, source: &ColumnSource, pattern: &str, ignore_case: bool) -> Expr {
        let left = (self.operands)(source);
        if pattern.contains('\0') {
            return never(&left);
        }
        let pattern = param::text(self.params, pattern::escape_end(pattern), "text");
        let left = if left.class == Class::Text("text") { left.expr } else { left.to_text().expr };
        match (ignore_case, self.features.icu_folds) {
            (false, _) => like(left, pattern),
            (true, false) => ilike(left, pattern),
            (true, true) => ilike(collate(left, "und-x-icu"), pattern),
        }
    }
}

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
    let (left, text, ty) = match left.class.value(value) {
        Some((text, ty)) => (left.expr.clone(), text, ty),
        None => (left.to_text().expr, text_of(value).unwrap_or_default(), "text"),
    };
    predicate::compare(left, op, param::text(params, text, ty))
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
fn never(left: &Operand) -> Expr {
    let text = left.to_text().expr;
    text.clone().ne(text)
}

/// Looks for a column in a list of values that all compare in the same type, or one by one.
fn is_in(params: &mut Params<Param>, left: &Operand, values: &[Value], negated: bool) -> Expr {
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
        Some(ty) if alike && !ty.is_empty() => (left.expr.clone(), ty),
        // Numbers of several types, none of which can hold all.
        _ if matches!(left.class, Class::Integer(_) | Class::Numeric | Class::Real4 | Class::Real8) => {
            let parts = values.iter().map(|value| compare(params, left, CompareOp::Eq, value));
            let any = parts.reduce(Expr::or).unwrap_or_else(|| never(left));
            return if negated { any.not() } else { any };
        }
        _ => {
            texts = values.iter().filter_map(text_of).collect();
            (left.to_text().expr, "text")
        }
    };
    if texts.is_empty() {
        return if negated { never(left).not() } else { never(left) };
    }
    let list = param::text(params, array(&texts), &format!("{ty}[]"));
    if negated { column.ne(PgFunc::all(list)) } else { column.eq(PgFunc::any(list)) }
}

/// Returns the text form of an array.
fn array(texts: &[String]) -> String {
    let quoted = texts.iter().map(|text| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    });
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}
