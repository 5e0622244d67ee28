//! Comparisons with columns that store values in another form than that of the field's type. `SPEC §5.5`

use mesh_schema::{Field, FieldType, TimeForm};

use super::comparable::Comparable;
use crate::Value;
use crate::plan::{ColumnSource, Comparand, CompareOp, Predicate};

/// The texts that represent a boolean in a column of text.
const BOOLEAN_TEXTS: [(bool, [&str; 2]); 2] = [(false, ["0", "false"]), (true, ["1", "true"])];

const DAY_SECONDS: i64 = 86_400;

/// Returns a comparison or a list of values in the form of the column.
pub(super) fn comparison(left: &Comparable, predicate: Predicate) -> Predicate {
    match (left.ty, left.stored, left.time_form) {
        // The comparison converts both sides.
        (.., Some(TimeForm::Mixed { .. })) => predicate,
        (Some(FieldType::Boolean), Some(FieldType::String), _) => boolean_in_text(predicate),
        (Some(FieldType::Boolean), stored, _) if is_number(stored) => match predicate {
            Predicate::Compare { source, op, value } => {
                Predicate::Compare { source, op, value: number(value) }
            }
            Predicate::In { source, values, negated } => {
                Predicate::In { source, values: values.into_iter().map(number).collect(), negated }
            }
            other => other,
        },
        (Some(FieldType::Date), _, Some(TimeForm::UnixSeconds)) => day_in_numbers(predicate, DAY_SECONDS),
        (Some(FieldType::Date), _, Some(TimeForm::UnixMillis)) => {
            day_in_numbers(predicate, DAY_SECONDS * 1_000)
        }
        _ => predicate,
    }
}

/// Returns whether the form of a comparison with the column depends on the compared value.
pub(super) fn is_rewritten(left: &Comparable) -> bool {
    let is_mixed = matches!(left.time_form, Some(TimeForm::Mixed { .. }));
    !is_mixed
        && matches!(
            (left.ty, left.stored, left.time_form),
            (Some(FieldType::Boolean), Some(FieldType::String), _)
                | (Some(FieldType::Date), _, Some(TimeForm::UnixSeconds | TimeForm::UnixMillis))
        )
}

/// Returns the value of a write in the form of the column.
pub(super) fn encode(field: &Field, value: Value) -> Value {
    if is_number(field.stored) { as_number(value) } else { value }
}

fn is_number(stored: Option<FieldType>) -> bool {
    use FieldType::{Bigint, Decimal, Integer, Number, Unsigned};
    matches!(stored, Some(Integer | Unsigned | Bigint | Number | Decimal))
}

fn number(value: Comparand<Value>) -> Comparand<Value> {
    match value {
        Comparand::Value(value) => Comparand::Value(as_number(value)),
        input @ Comparand::Input { .. } => input,
    }
}

fn as_number(value: Value) -> Value {
    if let Value::Boolean(value) = value { Value::Integer(value.into()) } else { value }
}

/// Compares with all texts of the matching booleans.
fn boolean_in_text(predicate: Predicate) -> Predicate {
    let texts = |matches: &dyn Fn(bool) -> bool| -> Vec<Comparand<Value>> {
        let matching = BOOLEAN_TEXTS.iter().filter(|(value, _)| matches(*value));
        matching.flat_map(|(_, texts)| texts).map(|text| Value::from(*text).into()).collect()
    };
    match predicate {
        Predicate::Compare { source, op, value: Comparand::Value(Value::Boolean(right)) } => {
            let negated = op == CompareOp::Ne;
            let values = texts(&|left| match op {
                CompareOp::Eq | CompareOp::Ne => left == right,
                CompareOp::Gt => left & !right,
                CompareOp::Gte => left >= right,
                CompareOp::Lt => !left & right,
                CompareOp::Lte => left <= right,
            });
            match values.is_empty() {
                false => Predicate::In { source, values, negated },
                // No text is less than the empty text, so this is false, or unknown for NULL.
                true => Predicate::Compare { source, op: CompareOp::Lt, value: Value::from("").into() },
            }
        }
        Predicate::In { source, values, negated } => {
            let values = texts(&|left| values.contains(&Value::Boolean(left).into()));
            Predicate::In { source, values, negated }
        }
        other => other,
    }
}

/// Compares points in time with the beginning and the end of a day.
fn day_in_numbers(predicate: Predicate, day: i64) -> Predicate {
    let compare = |source: &ColumnSource, op, value: i64| {
        let source = source.clone();
        Predicate::Compare { source, op, value: Value::Integer(value).into() }
    };
    let within = |source: &ColumnSource, start: i64| {
        let end = compare(source, CompareOp::Lt, start.saturating_add(day));
        Predicate::All(vec![compare(source, CompareOp::Gte, start), end])
    };
    match predicate {
        Predicate::Compare { source, op, value: Comparand::Value(Value::Integer(start)) } => match op {
            CompareOp::Eq => within(&source, start),
            CompareOp::Ne => Predicate::Not(Box::new(within(&source, start))),
            CompareOp::Gt => compare(&source, CompareOp::Gte, start.saturating_add(day)),
            CompareOp::Lte => compare(&source, CompareOp::Lt, start.saturating_add(day)),
            CompareOp::Gte | CompareOp::Lt => compare(&source, op, start),
        },
        Predicate::In { source, values, negated } => {
            let days = values.iter().map(|value| match value {
                Comparand::Value(Value::Integer(start)) => within(&source, *start),
                value => {
                    Predicate::Compare { source: source.clone(), op: CompareOp::Eq, value: value.clone() }
                }
            });
            let any = Predicate::Any(days.collect());
            if negated { Predicate::Not(Box::new(any)) } else { any }
        }
        other => other,
    }
}
