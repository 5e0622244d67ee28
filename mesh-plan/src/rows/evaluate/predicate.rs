//! Conditions on rows, in SQL's three-valued logic. `SPEC §3.7`

use std::cmp::Ordering;

use super::order::{self, Number};
use super::records::Records;
use crate::plan::{ColumnSource, CompareOp, Predicate};
use crate::{Pattern, ResolveError, Value};

/// Keeps the rows for which the predicate is true.
pub(super) fn filter(records: &mut Records<'_>, predicate: &Predicate) -> Result<(), ResolveError> {
    let mut kept = Vec::with_capacity(records.rows.len());
    for row in std::mem::take(&mut records.rows) {
        if holds(records, &row, predicate)? == Some(true) {
            kept.push(row);
        }
    }
    records.rows = kept;
    Ok(())
}

/// Returns whether the predicate holds; `None` means unknown. The parser bounds the depth of predicates.
fn holds(records: &Records<'_>, row: &[Value], predicate: &Predicate) -> Result<Option<bool>, ResolveError> {
    let cell = |source: &ColumnSource| {
        records.position(source).map(|position| row.get(position).unwrap_or(&Value::Null))
    };
    Ok(match predicate {
        Predicate::All(parts) => parts
            .iter()
            .try_fold(Some(true), |all, part| Ok::<_, ResolveError>(and(all, holds(records, row, part)?)))?,
        Predicate::Any(parts) => parts
            .iter()
            .try_fold(Some(false), |any, part| Ok::<_, ResolveError>(or(any, holds(records, row, part)?)))?,
        Predicate::Not(part) => not(holds(records, row, part)?),
        Predicate::Compare { source, op, value } => compares(cell(source)?, *op, value),
        // `Plan::bound` replaces it before.
        Predicate::Session { .. } => None,
        Predicate::In { source, values, negated } => {
            let left = cell(source)?;
            let is_one = |value| compares(left, CompareOp::Eq, value) == Some(true);
            (*left != Value::Null).then(|| values.iter().any(is_one) != *negated)
        }
        Predicate::Like { source, pattern, ignore_case } => match cell(source)? {
            Value::Null => None,
            Value::Text(text) => Some(Pattern::new(pattern, *ignore_case).matches(text)),
            _ => Some(false),
        },
        Predicate::IsNull { source, negated } => Some((*cell(source)? == Value::Null) != *negated),
    })
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    not(and(not(left), not(right)))
}

fn not(value: Option<bool>) -> Option<bool> {
    value.map(|value| !value)
}

fn compares(left: &Value, op: CompareOp, right: &Value) -> Option<bool> {
    if [left, right].contains(&&Value::Null) {
        return None;
    }
    let ordering = compare(left, right);
    Some(match op {
        CompareOp::Eq => ordering == Ordering::Equal,
        CompareOp::Ne => ordering != Ordering::Equal,
        CompareOp::Gt => ordering == Ordering::Greater,
        CompareOp::Gte => ordering != Ordering::Less,
        CompareOp::Lt => ordering == Ordering::Less,
        CompareOp::Lte => ordering != Ordering::Greater,
    })
}

/// Compares a number with the text of a number as numbers, since exact decimals are stored in both forms.
fn compare(left: &Value, right: &Value) -> Ordering {
    let number = |value: &Value| match value {
        Value::Text(text) => Number::parse(text),
        value => Number::from_value(value),
    };
    let both_text = matches!((left, right), (Value::Text(_), Value::Text(_)));
    match (number(left), number(right)) {
        (Some(left), Some(right)) if !both_text => left.compare(right),
        _ => order::compare(left, right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [Option<bool>; 3] = [Some(true), Some(false), None];

    #[test]
    fn unknown_is_neither_true_nor_false() {
        for value in VALUES {
            assert_eq!(and(value, Some(true)), value);
            assert_eq!(and(value, Some(false)), Some(false));
            assert_eq!(or(value, Some(true)), Some(true));
            assert_eq!(or(value, Some(false)), value);
        }
        assert_eq!((and(None, None), or(None, None), not(None)), (None, None, None));
    }

    #[test]
    fn comparisons_with_null_are_unknown_and_numbers_compare_with_their_texts() {
        assert_eq!(compares(&Value::Null, CompareOp::Ne, &1.into()), None);
        assert_eq!(compares(&1.into(), CompareOp::Eq, &true.into()), Some(true));
        assert_eq!(compares(&"9.50".into(), CompareOp::Eq, &9.5.into()), Some(true));
        assert_eq!(compares(&"10".into(), CompareOp::Gt, &9.into()), Some(true));
        assert_eq!(compares(&"10".into(), CompareOp::Lt, &"9".into()), Some(true));
        assert_eq!(compares(&"x".into(), CompareOp::Gt, &9.into()), Some(true));
        assert_eq!(compares(&2.into(), CompareOp::Gte, &2.into()), Some(true));
        assert_eq!(compares(&2.into(), CompareOp::Lte, &1.into()), Some(false));
    }
}
