//! Time forms of columns, detected from a few of their values within a time limit. `SPEC §5.5`

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_schema::{Column, FieldType, Table, TimeForm};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};
use sea_query::{Expr, ExprTrait as _, Query, SqliteQueryBuilder};

use super::{concerns_database, reason};
use crate::pool::interrupt::{Budget, Interrupt};

/// The time limit for the columns of one table: a view can be arbitrarily slow.
const TABLE_TIME: Duration = Duration::from_millis(250);
/// The time limit for all tables, which delay the start of a server.
const TOTAL_TIME: Duration = Duration::from_secs(3);
/// The largest number that is read as seconds, in the year 5138. As milliseconds it is in 1973.
const MAX_SECONDS: u64 = 100_000_000_000;

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

    /// Detects the time forms of time columns, and adds a note for each form that stays unknown. Returns only errors
    /// that concern the whole database.
    pub(super) fn fill_time_forms(
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
        if !table.columns.iter().any(holds_times) {
            return Ok(());
        }
        self.within_time(|| {
            for column in table.columns.iter_mut().filter(|column| holds_times(column)) {
                let path = format!("{}.{}", table.name, column.name);
                let mut counts = Vec::new();
                let cause = match count_forms(connection, &table.name, &column.name, &mut counts) {
                    Ok(()) => None,
                    Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                        Some("sampling took too long".to_owned())
                    }
                    Err(error) if concerns_database(&error) => return Err(error),
                    Err(error) => Some(reason(&error)),
                };
                // The most frequent form comes first. Among equally frequent forms, points in time come first.
                counts.sort_by_key(|(form, count)| (usize::MAX - count, !matches!(form, ValueForm::Time(_))));
                // Values that were read before an error count like any others.
                match cause {
                    Some(cause) if counts.is_empty() => {
                        notes.push(format!("The time form of column '{path}' is unknown: {cause}"));
                    }
                    _ => notes.extend(note(&counts, &path)),
                }
                column.time_form = match counts.first() {
                    Some((ValueForm::Time(form), _)) => Some(*form),
                    _ => None,
                };
            }
            Ok(())
        })
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

/// Counts the values of each form in a sample of a column.
fn count_forms(
    connection: &Connection,
    table: &str,
    column: &str,
    counts: &mut Vec<(ValueForm, usize)>,
) -> Result<(), Error> {
    // The inner limit keeps a column of NULLs from being read to its end.
    let first = Query::select()
        .expr_as(Expr::col(("t", column.to_owned())), "v")
        .from_as(("main", table.to_owned()), "t")
        .limit(1_000)
        .take();
    let sql = Query::select()
        .column(("s", "v"))
        .from_subquery(first, "s")
        .and_where(Expr::col(("s", "v")).is_not_null())
        .limit(25)
        .to_string(SqliteQueryBuilder);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let form = form_of(row.get_ref(0)?);
        match counts.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => counts.push((form, 1)),
        }
    }
    Ok(())
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
            Some(format!("Column '{path}' has several time forms, and the first one is used: {list}"))
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
            Self::Day => f.write_str("YYYY-MM-DD"),
            Self::Other => f.write_str("an unknown form"),
        }
    }
}

fn form_of(value: ValueRef<'_>) -> ValueForm {
    let numeric =
        |is_seconds| ValueForm::Time(if is_seconds { TimeForm::UnixSeconds } else { TimeForm::UnixMillis });
    match value {
        ValueRef::Integer(number) => numeric(number.unsigned_abs() <= MAX_SECONDS),
        ValueRef::Real(number) => numeric(number.abs() <= MAX_SECONDS as f64),
        ValueRef::Text(text) => form_of_text(text).unwrap_or(ValueForm::Other),
        ValueRef::Blob(_) | ValueRef::Null => ValueForm::Other,
    }
}

fn form_of_text(text: &[u8]) -> Option<ValueForm> {
    let (day, rest) = text.split_at_checked(10)?;
    if !matches_digits(day, b"0000-00-00") {
        return None;
    }
    let Some((&separator, rest)) = rest.split_first() else { return Some(ValueForm::Day) };
    let (clock, rest) = rest.split_at_checked(8)?;
    if !matches!(separator, b'T' | b' ') || !matches_digits(clock, b"00:00:00") {
        return None;
    }
    let (rest, zulu) = rest.strip_suffix(b"Z").map_or((rest, false), |rest| (rest, true));
    let fraction = match rest {
        [] => 0,
        [b'.', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => u8::try_from(digits.len()).ok()?,
        _ => return None,
    };
    if fraction > 9 || rest == b"." {
        return None;
    }
    Some(ValueForm::Time(TimeForm::Text { separator: char::from(separator), fraction, zulu }))
}

/// Returns whether a text matches a pattern in which each zero represents any digit.
fn matches_digits(text: &[u8], pattern: &[u8]) -> bool {
    let fits = |(byte, expected): (&u8, &u8)| {
        if *expected == b'0' { byte.is_ascii_digit() } else { byte == expected }
    };
    text.len() == pattern.len() && text.iter().zip(pattern).all(fits)
}

#[cfg(test)]
mod tests;
