//! The order of values and of rows. `SPEC §3.9`

use std::cmp::Ordering;

use mesh_ql::{Direction, Nulls};

use super::records::Records;
use crate::plan::SortKey;
use crate::rows::DeadlineCheck;
use crate::{ResolveError, Value, ValueRef};

/// Compares two values: NULL, then numbers and booleans, then text, then bytes, as in SQLite.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left.as_ref(), right.as_ref()) {
        (ValueRef::Text(left), ValueRef::Text(right)) | (ValueRef::Bytes(left), ValueRef::Bytes(right)) => {
            left.cmp(right)
        }
        (left_ref, right_ref) => match (Number::from_value(left), Number::from_value(right)) {
            (Some(left), Some(right)) => left.compare(right),
            _ => class(left_ref).cmp(&class(right_ref)),
        },
    }
}

fn class(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Boolean(_) | ValueRef::Integer(_) | ValueRef::Real(_) => 1,
        ValueRef::Text(_) => 2,
        ValueRef::Bytes(_) => 3,
    }
}

/// A value that counts as a number; a boolean is 0 or 1.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Integer(i64),
    Real(f64),
}

impl Number {
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Boolean(value) => Some(Self::Integer((*value).into())),
            Value::Integer(value) => Some(Self::Integer(*value)),
            Value::Real(value) => Some(Self::Real(*value)),
            Value::Null | Value::Text(_) | Value::InvalidText(_) | Value::Bytes(_) => None,
        }
    }

    /// Parses the text of a number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let integer = text.parse().ok().map(Self::Integer);
        integer.or_else(|| text.parse().ok().filter(|value: &f64| value.is_finite()).map(Self::Real))
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.cmp(&right),
            (Self::Integer(left), Self::Real(right)) => integer_with_real(left, right),
            (Self::Real(left), Self::Integer(right)) => integer_with_real(right, left).reverse(),
            // NaN is stored as NULL.
            (Self::Real(left), Self::Real(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
        }
    }
}

/// Compares exactly, including integers that no real represents.
fn integer_with_real(integer: i64, real: f64) -> Ordering {
    let bound = 2f64.powi(63);
    if real >= bound {
        Ordering::Less
    } else if real < -bound {
        Ordering::Greater
    } else {
        let fraction = || 0.0.partial_cmp(&real.fract()).unwrap_or(Ordering::Equal);
        integer.cmp(&(real.trunc() as i64)).then_with(fraction)
    }
}

/// Sorts rows; equal rows keep their order. A key that only breaks ties is skipped if the rows lack its column.
pub(super) fn sort(
    records: &mut Records<'_>,
    order: &[SortKey],
    deadline: &DeadlineCheck,
) -> Result<(), ResolveError> {
    let is_used = |key: &&SortKey| !key.breaks_ties || records.find(&key.source).is_some();
    let order: Vec<&SortKey> = order.iter().filter(is_used).collect();
    let positions = positions(records, &order)?;
    deadline.check()?;
    records
        .rows
        .sort_by(|left, right| compare_rows(&order, cells(left, &positions), cells(right, &positions)));
    Ok(())
}

fn cells<'r>(row: &'r [Value], positions: &'r [usize]) -> impl Iterator<Item = &'r Value> {
    positions.iter().filter_map(|position| row.get(*position))
}

/// Keeps the rows after the row with these sort values. Without an order, no row is kept.
pub(super) fn start_after(
    records: &mut Records<'_>,
    order: &[SortKey],
    after: &[Value],
) -> Result<(), ResolveError> {
    let order: Vec<&SortKey> = order.iter().collect();
    let positions = positions(records, &order)?;
    records
        .rows
        .retain(|row| compare_rows(&order, cells(row, &positions), after.iter()) == Ordering::Greater);
    Ok(())
}

fn positions(records: &Records<'_>, order: &[&SortKey]) -> Result<Vec<usize>, ResolveError> {
    order.iter().map(|key| records.position(&key.source)).collect()
}

fn compare_rows<'v>(
    order: &[&SortKey],
    left: impl Iterator<Item = &'v Value>,
    right: impl Iterator<Item = &'v Value>,
) -> Ordering {
    let compared =
        order.iter().zip(left.zip(right)).map(|(key, (left, right))| compare_cells(key, left, right));
    compared.fold(Ordering::Equal, Ordering::then)
}

fn compare_cells(key: &SortKey, left: &Value, right: &Value) -> Ordering {
    let null_first = match key.nulls {
        Nulls::First => Ordering::Less,
        Nulls::Last => Ordering::Greater,
    };
    match (left, right, key.direction) {
        (Value::Null, Value::Null, _) => Ordering::Equal,
        (Value::Null, _, _) => null_first,
        (_, Value::Null, _) => null_first.reverse(),
        (_, _, Direction::Asc) => compare(left, right),
        (_, _, Direction::Desc) => compare(right, left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_a_total_order() {
        let ascending: [Value; 14] = [
            Value::Null,
            f64::NEG_INFINITY.into(),
            i64::MIN.into(),
            (-1.5).into(),
            false.into(),
            true.into(),
            1.5.into(),
            9_007_199_254_740_992.0.into(),
            9_007_199_254_740_993i64.into(),
            i64::MAX.into(),
            2f64.powi(63).into(),
            "".into(),
            "a".into(),
            vec![0u8].into(),
        ];
        for (index, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare(left, right), index.cmp(&other), "{left:?} {right:?}");
            }
        }
    }

    #[test]
    fn numbers_of_different_types_can_be_equal() {
        let is_equal = |left: Value, right: Value| compare(&left, &right).is_eq();
        assert!(is_equal(1.into(), 1.0.into()));
        assert!(is_equal(true.into(), 1.into()));
        assert!(is_equal(0.0.into(), (-0.0).into()));
        assert!(is_equal(i64::MIN.into(), (-2f64.powi(63)).into()));
        assert!(!is_equal(i64::MAX.into(), 2f64.powi(63).into()));
        assert!(!is_equal(1.into(), "1".into()));
    }
}
