//! Groups of rows and their aggregates. `SPEC §3.12`

use std::borrow::Cow;
use std::cmp::Ordering;

use mesh_ql::AggregateFn;

use super::Evaluation;
use super::order::{self, Number};
use super::predicate;
use super::records::{Records, Row};
use crate::plan::{Aggregate, ColumnSource, Grouping};
use crate::rows::DeadlineCheck;
use crate::{ResolveError, Value};

/// Returns the groups that satisfy `having`, each a row of its keys and aggregates. NULL is a key like any other value.
pub(super) fn fold<'a>(
    mut records: Records<'a>,
    evaluation: &Evaluation<'_>,
    grouping: &Grouping,
) -> Result<Records<'a>, ResolveError> {
    add_buckets(&mut records, grouping, evaluation.deadline)?;
    let column = |name: &String| records.position(&ColumnSource::Column(name.clone()));
    let keys: Vec<usize> = grouping.keys.iter().map(|key| records.position(key)).collect::<Result<_, _>>()?;
    let columns: Vec<Option<usize>> = (grouping.aggregates.iter())
        .map(|aggregate| aggregate.column.as_ref().map(column).transpose())
        .collect::<Result<_, _>>()?;
    let by_key = |left: &[Value], right: &[Value]| {
        let compared = keys.iter().map(|key| order::compare(cell(left, *key), cell(right, *key)));
        compared.fold(Ordering::Equal, Ordering::then)
    };
    evaluation.deadline.check()?;
    records.rows.sort_by(|left, right| by_key(left, right));
    let groups: Vec<&[Row<'_>]> = if keys.is_empty() {
        vec![&records.rows]
    } else {
        records.rows.chunk_by(|left, right| by_key(left, right).is_eq()).collect()
    };
    let mut rows = Vec::with_capacity(groups.len());
    for group in groups {
        evaluation.deadline.count_row()?;
        let first = group.first().map_or(&[][..], |row| row);
        let mut row: Vec<Value> = keys.iter().map(|key| cell(first, *key).clone()).collect();
        for (aggregate, column) in grouping.aggregates.iter().zip(&columns) {
            row.push(compute(aggregate, *column, group, evaluation.deadline)?);
        }
        rows.push(Row { index: 0, cells: Cow::Owned(row) });
    }
    let keys = grouping.keys.iter().cloned();
    let aggregates = (0..grouping.aggregates.len()).map(ColumnSource::Aggregate);
    let sources = keys.chain(aggregates).map(Some).collect();
    let mut groups = Records { path: records.path, sources, rows };
    if let Some(having) = &grouping.having {
        predicate::filter(&mut groups, &evaluation.plan.bind(having), evaluation.deadline)?;
    }
    Ok(groups)
}

/// Adds a cell to each row for each bucket of the grouping.
fn add_buckets(
    records: &mut Records<'_>,
    grouping: &Grouping,
    deadline: &DeadlineCheck,
) -> Result<(), ResolveError> {
    for key in &grouping.keys {
        let ColumnSource::Bucket(bucket) = key else { continue };
        let periods = bucket.periods()?;
        let column = records.position(&ColumnSource::Column(bucket.column.clone()))?;
        for row in &mut records.rows {
            deadline.count_row()?;
            let period = periods.period_of(cell(row, column).as_ref());
            row.cells.to_mut().push(period);
        }
        records.sources.to_mut().push(Some(key.clone()));
    }
    Ok(())
}

fn cell(row: &[Value], position: usize) -> &Value {
    row.get(position).unwrap_or(&Value::Null)
}

fn compute(
    aggregate: &Aggregate,
    column: Option<usize>,
    rows: &[Row<'_>],
    deadline: &DeadlineCheck,
) -> Result<Value, ResolveError> {
    let Some(column) = column else { return Ok(count(rows.len())) };
    let mut values: Vec<&Value> = rows.iter().map(|row| cell(row, column)).collect();
    values.retain(|value| **value != Value::Null);
    let by_order = |left: &&Value, right: &&Value| order::compare(left, right);
    if aggregate.distinct {
        deadline.check()?;
        values.sort_by(by_order);
        values.dedup_by(|left, right| by_order(left, right).is_eq());
    }
    let total = || {
        let mut total = Total::default();
        values.iter().for_each(|value| total.add(value));
        total
    };
    Ok(match aggregate.function {
        AggregateFn::Count => count(values.len()),
        AggregateFn::Sum => total().sum()?,
        AggregateFn::Avg => total().average(),
        AggregateFn::Min => values.into_iter().min_by(by_order).cloned().unwrap_or_default(),
        AggregateFn::Max => values.into_iter().max_by(by_order).cloned().unwrap_or_default(),
    })
}

fn count(rows: usize) -> Value {
    i64::try_from(rows).unwrap_or(i64::MAX).into()
}

/// A sum of values: exact for integers; for reals with compensation for rounding errors (Neumaier), so that the order of
/// the rows hardly matters.
#[derive(Debug, Default)]
pub struct Total {
    count: usize,
    has_real: bool,
    integers: i128,
    reals: f64,
    compensation: f64,
}

impl Total {
    /// Adds a value. The text of a number counts as that number, anything else as 0, and NULL does not count.
    pub fn add(&mut self, value: &Value) {
        if *value == Value::Null {
            return;
        }
        self.count += 1;
        match addend(value) {
            Number::Integer(value) => {
                self.integers += i128::from(value);
                self.add_real(value as f64);
            }
            Number::Real(value) => {
                self.has_real = true;
                self.add_real(value);
            }
        }
    }

    /// Adds a real. The smaller of two numbers loses digits in their sum.
    fn add_real(&mut self, value: f64) {
        let sum = self.reals + value;
        self.compensation += if self.reals.abs() > value.abs() {
            (self.reals - sum) + value
        } else {
            (value - sum) + self.reals
        };
        self.reals = sum;
    }

    fn real(&self) -> f64 {
        if self.compensation.is_finite() { self.reals + self.compensation } else { self.reals }
    }

    /// Returns the sum; NULL if no value was added.
    ///
    /// # Errors
    /// [`ResolveError::SumOverflow`] for integers.
    pub fn sum(&self) -> Result<Value, ResolveError> {
        match (self.count, self.has_real) {
            (0, _) => Ok(Value::Null),
            (_, true) => Ok(real_or_null(self.real())),
            (_, false) => {
                i64::try_from(self.integers).map(Value::Integer).map_err(|_| ResolveError::SumOverflow)
            }
        }
    }

    fn average(&self) -> Value {
        let total = if self.has_real { self.real() } else { self.integers as f64 };
        if self.count == 0 { Value::Null } else { real_or_null(total / self.count as f64) }
    }
}

/// Returns a value as a number: the text of a number counts as that number, anything else as 0.
fn addend(value: &Value) -> Number {
    let of_text = match value {
        Value::Text(text) => Number::parse(text),
        _ => None,
    };
    Number::from_value(value).or(of_text).unwrap_or(Number::Real(0.0))
}

fn real_or_null(value: f64) -> Value {
    if value.is_nan() { Value::Null } else { Value::Real(value) }
}
