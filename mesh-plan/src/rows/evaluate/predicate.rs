//! Conditions on rows, in SQL's three-valued logic. `SPEC §3.7`

use std::borrow::Cow;
use std::cmp::Ordering;

use super::order::{self, Number};
use super::records::Records;
use super::search::SearchCells;
use crate::plan::{ColumnSource, Comparand, CompareOp, Predicate};
use crate::rows::DeadlineCheck;
use crate::value::json::{JsonPointer, JsonType};
use crate::value::like::Pattern;
use crate::{ResolveError, Value};

/// Keeps the rows for which the predicate is true.
pub(super) fn filter(
    records: &mut Records<'_>,
    predicate: &Predicate,
    deadline: &DeadlineCheck,
) -> Result<(), ResolveError> {
    if records.rows.is_empty() {
        return Ok(());
    }
    let condition = Condition::new(records, predicate)?;
    let mut result = Ok(());
    records.rows.retain(|row| {
        if result.is_ok() {
            result = deadline.count_row();
        }
        result.is_ok() && condition.holds(row) == Some(true)
    });
    result
}

/// A predicate with the positions of its cells, and with compiled patterns.
enum Condition<'p> {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    NotTrue(Box<Self>),
    Compare(Cell<'p>, CompareOp, &'p Value),
    In(Cell<'p>, &'p [Comparand<Value>], bool),
    Like(Cell<'p>, Pattern),
    Has(Cell<'p>, Vec<Value>, bool),
    IsNull(Cell<'p>, bool),
    Search(SearchCells),
    Unknown,
}

/// The value that a condition compares.
struct Cell<'p> {
    position: usize,
    /// The scalar in the JSON document of the cell.
    json: Option<(&'p JsonPointer, JsonType)>,
}

impl<'p> Cell<'p> {
    fn new(records: &Records<'_>, source: &'p ColumnSource) -> Result<Self, ResolveError> {
        let json = match source {
            ColumnSource::Json { at, ty, .. } => Some((at, *ty)),
            _ => None,
        };
        Ok(Self { position: records.position(source.stored())?, json })
    }

    fn of<'r>(&self, row: &'r [Value]) -> Cow<'r, Value> {
        let cell = row.get(self.position).unwrap_or(&Value::Null);
        match self.json {
            Some((at, ty)) => Cow::Owned(at.find(cell.as_ref(), ty)),
            None => Cow::Borrowed(cell),
        }
    }
}

impl<'p> Condition<'p> {
    /// Prepares a predicate for rows with these sources. The parser bounds the depth of predicates.
    fn new(records: &Records<'_>, predicate: &'p Predicate) -> Result<Self, ResolveError> {
        let all = |parts: &'p [Predicate]| -> Result<Vec<Self>, ResolveError> {
            parts.iter().map(|part| Self::new(records, part)).collect()
        };
        let cell = |source: &'p ColumnSource| Cell::new(records, source);
        Ok(match predicate {
            Predicate::All(parts) => Self::All(all(parts)?),
            Predicate::Any(parts) => Self::Any(all(parts)?),
            Predicate::Not(part) => Self::Not(Box::new(Self::new(records, part)?)),
            Predicate::NotTrue(part) => Self::NotTrue(Box::new(Self::new(records, part)?)),
            Predicate::Exists { related, negated } => {
                let value = if *negated { &Value::Boolean(false) } else { &Value::Boolean(true) };
                let position = records.position(&ColumnSource::Exists(*related))?;
                Self::Compare(Cell { position, json: None }, CompareOp::Eq, value)
            }
            Predicate::Param { condition, .. } => Self::new(records, condition)?,
            Predicate::Compare { source, op, value: Comparand::Value(value) } => {
                Self::Compare(cell(source)?, *op, value)
            }
            Predicate::In { source, values, negated } => Self::In(cell(source)?, values, *negated),
            Predicate::Like { source, pattern: Comparand::Value(pattern), ignore_case } => {
                let pattern = Pattern::new(pattern, *ignore_case).map_err(ResolveError::new)?;
                Self::Like(cell(source)?, pattern)
            }
            Predicate::Has { of, at, ty, values, all } => {
                let values = values.iter().filter_map(Comparand::value).cloned().collect();
                let cell = Cell { position: records.position(of.stored())?, json: Some((at, *ty)) };
                Self::Has(cell, values, *all)
            }
            Predicate::IsNull { source, negated } => Self::IsNull(cell(source)?, *negated),
            Predicate::Search(search) => Self::Search(SearchCells::new(&records.sources, search, &[])?),
            // `Plan::bind` has already replaced these.
            Predicate::Session { .. }
            | Predicate::SessionIn { .. }
            | Predicate::Compare { value: Comparand::Input { .. }, .. }
            | Predicate::Like { pattern: Comparand::Input { .. }, .. } => Self::Unknown,
        })
    }

    /// Returns whether it holds for a row; `None` means unknown.
    fn holds(&self, row: &[Value]) -> Option<bool> {
        match self {
            Self::All(parts) => parts.iter().map(|part| part.holds(row)).reduce(and).unwrap_or(Some(true)),
            Self::Any(parts) => parts.iter().map(|part| part.holds(row)).reduce(or).unwrap_or(Some(false)),
            Self::Not(part) => not(part.holds(row)),
            Self::NotTrue(part) => Some(part.holds(row) != Some(true)),
            Self::Compare(cell, op, value) => compares(&cell.of(row), *op, value),
            Self::In(cell, values, negated) => {
                let left = cell.of(row);
                let is_one = |value: &Comparand<Value>| {
                    value.value().and_then(|value| compares(&left, CompareOp::Eq, value)) == Some(true)
                };
                (*left != Value::Null).then(|| values.iter().any(is_one) != *negated)
            }
            Self::Like(cell, pattern) => match &*cell.of(row) {
                Value::Null => None,
                Value::Text(text) => Some(pattern.matches(text)),
                _ => Some(false),
            },
            Self::Has(cell, values, all) => {
                let (at, ty) = cell.json?;
                at.has(row.get(cell.position)?.as_ref(), ty, values, *all)
            }
            Self::IsNull(cell, negated) => Some((*cell.of(row) == Value::Null) != *negated),
            Self::Search(search) => Some(search.matches(row)),
            Self::Unknown => None,
        }
    }
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
