//! How is a predicate said?

use super::operand::{Class, text_of};
use super::{Names, Operand, Params};
use crate::plan::{CompareOp, Predicate};
use crate::{Value, like};

/// Filters are nested as deep as the parser lets them.
pub(super) fn lower(params: &mut Params, names: &Names<'_>, predicate: &Predicate) -> String {
    match predicate {
        Predicate::All(parts) => list(params, names, parts, " AND ", "TRUE"),
        Predicate::Any(parts) => list(params, names, parts, " OR ", "FALSE"),
        Predicate::Not(part) => format!("NOT {}", lower(params, names, part)),
        Predicate::Compare { source, op, value } => compare(params, &names(source), *op, value),
        Predicate::In { source, values, negated } => within(params, &names(source), values, *negated),
        Predicate::Like { source, pattern, ignore_case } => {
            like(params, &names(source), pattern, *ignore_case)
        }
        Predicate::Session { source, op, slot, .. } => {
            let left = names(source);
            let right = params.session(*slot, &left.class);
            format!("({} {} {right})", left.holder().sql, operator(*op))
        }
        Predicate::IsNull { source, negated: false } => format!("({} IS NULL)", names(source).sql),
        Predicate::IsNull { source, negated: true } => format!("({} IS NOT NULL)", names(source).sql),
    }
}

fn list(params: &mut Params, names: &Names<'_>, parts: &[Predicate], and: &str, empty: &str) -> String {
    let parts: Vec<_> = parts.iter().map(|part| lower(params, names, part)).collect();
    if parts.is_empty() { empty.to_owned() } else { format!("({})", parts.join(and)) }
}

/// A comparison, in parentheses.
pub(super) fn compare(params: &mut Params, left: &Operand, op: CompareOp, value: &Value) -> String {
    if *value == Value::Null {
        return "(NULL::bool)".to_owned();
    }
    if let Value::Text(text) = value
        && let Some((before, _)) = text.split_once('\0')
    {
        return compare_with_nul(params, left, op, before);
    }
    match left.class.value(value) {
        Some((text, ty)) => {
            let right = params.text(value.clone(), text, ty);
            format!("({} {} {right})", left.sql, operator(op))
        }
        None => {
            let right = params.text(value.clone(), text_of(value).unwrap_or_default(), "text");
            format!("({} {} {right})", left.to_text().sql, operator(op))
        }
    }
}

pub(super) fn operator(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::Ne => "<>",
        CompareOp::Gt => ">",
        CompareOp::Gte => ">=",
        CompareOp::Lt => "<",
        CompareOp::Lte => "<=",
    }
}

/// No text of the database holds the character NUL; what is there sorts right behind what stands before it.
fn compare_with_nul(params: &mut Params, left: &Operand, op: CompareOp, before: &str) -> String {
    let before = Value::Text(before.to_owned());
    match op {
        CompareOp::Eq => never(left),
        CompareOp::Ne => format!("NOT {}", never(left)),
        CompareOp::Gt | CompareOp::Gte => compare(params, left, CompareOp::Gt, &before),
        CompareOp::Lt | CompareOp::Lte => compare(params, left, CompareOp::Lte, &before),
    }
}

/// False, but unknown for NULL.
fn never(left: &Operand) -> String {
    let text = left.to_text().sql;
    format!("({text} <> {text})")
}

/// One of a list, or none of it.
fn within(params: &mut Params, left: &Operand, values: &[Value], negated: bool) -> String {
    let mut known: Option<&str> = None;
    let mut texts = Vec::with_capacity(values.len());
    let alike = values.iter().all(|value| match left.class.value(value) {
        Some((text, ty)) if *known.get_or_insert(ty) == ty => {
            texts.push(text);
            true
        }
        _ => false,
    });
    let (sql, ty) = match known {
        Some(ty) if alike && !ty.is_empty() => (left.sql.clone(), ty.to_owned()),
        _ => {
            texts = values.iter().filter_map(text_of).collect();
            let mixed =
                matches!(left.class, Class::Integer(_) | Class::Numeric | Class::Real4 | Class::Real8);
            if mixed {
                return one_by_one(params, left, values, negated);
            }
            (left.to_text().sql, "text".to_owned())
        }
    };
    if texts.is_empty() {
        return if negated { format!("NOT {}", never(left)) } else { never(left) };
    }
    let array = params.text(Value::Text(texts.join(", ")), array(&texts), &format!("{ty}[]"));
    if negated { format!("({sql} <> ALL ({array}))") } else { format!("({sql} = ANY ({array}))") }
}

/// Numbers of several types, none of which can hold all.
fn one_by_one(params: &mut Params, left: &Operand, values: &[Value], negated: bool) -> String {
    let parts: Vec<_> = values.iter().map(|value| compare(params, left, CompareOp::Eq, value)).collect();
    let any = format!("({})", parts.join(" OR "));
    if negated { format!("NOT {any}") } else { any }
}

/// The text form of an array.
fn array(texts: &[String]) -> String {
    let mut out = String::from("{");
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push('"');
        out.push_str(&text.replace('\\', "\\\\").replace('"', "\\\""));
        out.push('"');
    }
    out.push('}');
    out
}

fn like(params: &mut Params, left: &Operand, pattern: &str, ignore_case: bool) -> String {
    if pattern.contains('\0') {
        return never(left);
    }
    let icu = params.features.icu_folds;
    let right = params.text(Value::Text(pattern.to_owned()), like::closed(pattern), "text");
    let left = if left.class == Class::Text("text") { left.sql.clone() } else { left.to_text().sql };
    match (ignore_case, icu) {
        (false, _) => format!("({left} LIKE {right})"),
        (true, false) => format!("({left} ILIKE {right})"),
        (true, true) => format!("({left} COLLATE \"und-x-icu\" ILIKE {right})"),
    }
}
