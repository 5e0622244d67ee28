//! Forms of the values in columns, detected from some of their values within a time limit. `SPEC §5.5`

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_backend::catalog::{number_form, text_form};
use mesh_schema::{CellKinds, Column, FieldType, Table, TimeForm};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};
use sea_query::{Order, Query, SelectStatement, SqliteQueryBuilder};

use super::{concerns_database, reason};
use crate::pool::interrupt::{Budget, Interrupt};

/// The time limit for the columns of one table: a view can be arbitrarily slow.
const TABLE_TIME: Duration = Duration::from_millis(250);
/// The time limit for all tables, which delay the start of a server.
const TOTAL_TIME: Duration = Duration::from_secs(3);
/// The number of rows at either end of a table that are read, which takes a few milliseconds.
const SAMPLED_ROWS: u64 = 10_000;
/// The length of a day as text.
const DAY_BYTES: usize = "0000-00-00".len();

/// Reads samples of columns within a time limit.
pub(super) struct Sampler {
    interrupt: Arc<Interrupt>,
    end: Instant,
    /// Tables and columns that hold times regardless of their declared types.
    times: Vec<(String, String)>,
}

impl Sampler {
    /// Creates a sampler. The time limit starts here.
    pub(super) fn new(connection: &mut Connection, times: Vec<(String, String)>) -> Result<Self, Error> {
        Ok(Self { interrupt: Interrupt::new(connection)?, end: Instant::now() + TOTAL_TIME, times })
    }

    /// Detects the kinds of values in columns that can hold values of any type, and the time forms of time columns. Adds a note
    /// for each form that stays unknown. Returns only errors that concern the whole database.
    pub(super) fn fill_forms(
        &self,
        connection: &Connection,
        table: &mut Table,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let of_table = table.name.clone();
        let is_named = |column: &Column| {
            let same = |(table, name): &(String, String)| {
                table.eq_ignore_ascii_case(&of_table) && name.eq_ignore_ascii_case(&column.name)
            };
            self.times.iter().any(same)
        };
        let holds_times = |column: &Column| {
            matches!(column.ty, Some(FieldType::Datetime | FieldType::Date)) || is_named(column)
        };
        let has_times: Vec<bool> = table.columns.iter().map(holds_times).collect();
        let mut samples = vec![Sample::default(); table.columns.len()];
        let cause = match self.within_time(|| sample(connection, table, &mut samples)) {
            Ok(()) => None,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Some("sampling took too long".to_owned())
            }
            Err(error) if concerns_database(&error) => return Err(error),
            Err(error) => Some(reason(&error)),
        };
        let columns = table.columns.iter_mut().zip(samples).zip(has_times);
        for ((column, Sample { mut kinds, mut forms }), has_times) in columns {
            if has_times {
                let path = format!("{}.{}", table.name, column.name);
                // The most frequent form comes first. Among equally frequent forms, points in time come first.
                forms.sort_by_key(|(form, count)| (usize::MAX - count, !matches!(form, ValueForm::Time(_))));
                // Values that were read before an error count like any others.
                match &cause {
                    Some(cause) if forms.is_empty() => {
                        notes.push(format!("The time form of column '{path}' is unknown: {cause}"));
                    }
                    _ => notes.extend(note(&forms, &path)),
                }
                column.time_form = match forms.first() {
                    Some((ValueForm::Time(form), _)) => Some(*form),
                    _ => None,
                };
                if forms.len() > 1 || matches!(forms.first(), Some((ValueForm::Other, _))) {
                    kinds.insert(CellKinds::OTHER_TIME);
                }
            }
            column.sampled = kinds;
        }
        Ok(())
    }

    /// Runs `work` and interrupts the statements of the connection after the time limit of one table.
    pub(super) fn within_time<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.interrupt.begin(Budget::until(self.end.min(Instant::now() + TABLE_TIME)));
        let result = work();
        self.interrupt.begin(Budget::default());
        result
    }
}

/// The form of one value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    /// A point in time.
    Time(TimeForm),
    /// A day as text.
    Day,
    /// Anything else.
    Other,
}

/// The values that were found in a column.
#[derive(Clone, Default)]
struct Sample {
    kinds: CellKinds,
    /// The number of values of each time form.
    forms: Vec<(ValueForm, usize)>,
}

/// Reads the first and the last rows of a table, which may have been written by different programs.
fn sample(connection: &Connection, table: &Table, samples: &mut [Sample]) -> Result<(), Error> {
    let columns = table.columns.iter().map(|column| ("t", column.name.clone()));
    let first = Query::select()
        .columns(columns)
        .from_as(("main", table.name.clone()), "t")
        .limit(SAMPLED_ROWS)
        .take();
    let is_all = add_rows(connection, &first, samples)? < SAMPLED_ROWS;
    match &table.row_id {
        Some(row_id) if !is_all => {
            let last = first.clone().order_by(("t", row_id.clone()), Order::Desc).take();
            add_rows(connection, &last, samples).map(drop)
        }
        _ => Ok(()),
    }
}

/// Adds the rows of a statement to the samples of its columns. Returns the number of rows.
fn add_rows(connection: &Connection, select: &SelectStatement, samples: &mut [Sample]) -> Result<u64, Error> {
    let mut statement = connection.prepare(&select.to_string(SqliteQueryBuilder))?;
    let (mut rows, mut count) = (statement.query([])?, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        for (index, sample) in samples.iter_mut().enumerate() {
            sample.add(row.get_ref(index)?);
        }
    }
    Ok(count)
}

impl Sample {
    fn add(&mut self, value: ValueRef<'_>) {
        if value == ValueRef::Null {
            return;
        }
        self.kinds.insert(kind(value));
        let form = form_of(value);
        match self.forms.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => self.forms.push((form, 1)),
        }
    }
}

/// Returns the kind of a value.
fn kind(value: ValueRef<'_>) -> CellKinds {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    match value {
        ValueRef::Null => CellKinds::default(),
        ValueRef::Integer(0 | 1) => CellKinds::BIT,
        ValueRef::Integer(value) if value.unsigned_abs() > EXACT => CellKinds::LARGE_INTEGER,
        ValueRef::Integer(_) => CellKinds::INTEGER,
        ValueRef::Real(value) if value.fract() == 0.0 => CellKinds::WHOLE,
        ValueRef::Real(_) => CellKinds::REAL,
        ValueRef::Blob(bytes) if bytes.len() == 16 => CellKinds::UUID_BYTES,
        ValueRef::Blob(_) => CellKinds::BYTES,
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Err(_) => CellKinds::INVALID_TEXT,
            Ok("0" | "1" | "true" | "false") => CellKinds::BOOLEAN_TEXT,
            Ok(text) if text.parse().is_ok_and(|value: i64| value.to_string() == text) => {
                CellKinds::INTEGER_TEXT
            }
            Ok(text) if is_uuid(text.as_bytes()) => CellKinds::UUID_TEXT,
            Ok(_) => CellKinds::TEXT,
        },
    }
}

fn is_uuid(text: &[u8]) -> bool {
    let fits = |(index, byte): (usize, &u8)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.iter().enumerate().all(fits)
}

/// Returns a note for a column whose values have no known form, or several forms.
fn note(counts: &[(ValueForm, usize)], path: &str) -> Option<String> {
    match counts {
        [] | [(ValueForm::Time(_) | ValueForm::Day, _)] => None,
        [(ValueForm::Other, _)] => Some(format!("The time form of column '{path}' is unknown")),
        _ => {
            let total: usize = counts.iter().map(|(_, count)| count).sum();
            let forms = counts.iter().map(|(form, count)| format!("{form} ({count} of {total})"));
            let list = forms.collect::<Vec<_>>().join(", ");
            Some(format!(
                "Column '{path}' has several time forms: {list}. Comparisons convert them, without an index"
            ))
        }
    }
}

impl fmt::Display for ValueForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Time(TimeForm::Text { separator, fraction, zulu }) => {
                let point = if fraction > 0 { "." } else { "" };
                let fraction = "s".repeat(usize::from(fraction));
                let zone = if zulu { "Z" } else { "" };
                write!(f, "YYYY-MM-DD{separator}HH:MM:SS{point}{fraction}{zone}")
            }
            Self::Time(TimeForm::UnixSeconds) => f.write_str("Unix seconds"),
            Self::Time(TimeForm::UnixMillis) => f.write_str("Unix milliseconds"),
            Self::Time(TimeForm::UuidBytes | TimeForm::Mixed { .. } | TimeForm::Extended) => Ok(()),
            Self::Day => f.write_str("YYYY-MM-DD"),
            Self::Other => f.write_str("an unknown form"),
        }
    }
}

fn form_of(value: ValueRef<'_>) -> ValueForm {
    let form = match value {
        ValueRef::Integer(number) => Some(number_form(number as f64)),
        ValueRef::Real(number) => Some(number_form(number)),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(day) if day.len() == DAY_BYTES && text_form(&format!("{day}T00:00:00")).is_some() => {
                return ValueForm::Day;
            }
            text => text.ok().and_then(text_form),
        },
        ValueRef::Blob(_) | ValueRef::Null => None,
    };
    form.map_or(ValueForm::Other, ValueForm::Time)
}

#[cfg(test)]
mod tests;
