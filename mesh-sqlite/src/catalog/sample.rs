//! Time forms of columns, detected from a few of their values within a time limit. `SPEC §5.5`

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use mesh_schema::{Column, FieldType, Table, TimeForm};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, ffi};

use super::{concerns_all, quoted, reason};

/// How long the columns of one table may take: a view can be arbitrarily slow.
const TABLE_TIME: Duration = Duration::from_millis(250);
/// How long all tables together may take, since a server waits for it to start.
const TOTAL_TIME: Duration = Duration::from_secs(3);
/// How often a statement that is out of time is told so: the first time may fall between two statements.
const REMINDER: Duration = Duration::from_millis(10);
/// The largest number that is taken for seconds, some time in the year 5138; milliseconds pass it in 1973.
const MAX_SECONDS: u64 = 100_000_000_000;

/// Reads samples, and knows how much time is left for it.
pub(super) struct Sampler {
    end: Instant,
    /// Tables and columns that hold times whatever their declared type.
    times: Vec<(String, String)>,
}

impl Sampler {
    /// From here the time runs.
    pub(super) fn start(times: Vec<(String, String)>) -> Self {
        Self { end: Instant::now() + TOTAL_TIME, times }
    }

    /// Finds out how the columns for times write them. Where that stays open, a note says why; an error is
    /// one of the whole database.
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
        self.within_time(connection, |deadline| {
            for column in table.columns.iter_mut().filter(|column| holds_times(column)) {
                let mut tally = Tally::default();
                let place = format!("{}.{}", table.name, column.name);
                let end = tally.count(connection, &table.name, &column.name, deadline);
                let cause = match end {
                    Ok(()) => None,
                    Err(error) if is_out_of_time(&error, deadline) => {
                        Some("no time was left to sample it".to_owned())
                    }
                    Err(error) if concerns_all(&error) => return Err(error),
                    Err(error) => Some(reason(&error)),
                };
                // The values read before an error count like any others.
                match cause {
                    Some(cause) if tally.counts.is_empty() => {
                        notes.push(format!("How column '{place}' writes times is not known: {cause}"));
                    }
                    _ => notes.extend(tally.note(&place)),
                }
                column.time_form = tally.time_form();
            }
            Ok(())
        })
    }

    /// Does work with the connection, whose statements are interrupted once the time for one table is over.
    pub(super) fn within_time<T>(
        &self,
        connection: &Connection,
        work: impl FnOnce(Instant) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let deadline = self.end.min(Instant::now() + TABLE_TIME);
        let interrupt = connection.get_interrupt_handle();
        let (done, finished) = mpsc::channel::<()>();
        let watch = move || {
            let mut wait = deadline.saturating_duration_since(Instant::now());
            while finished.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                interrupt.interrupt();
                wait = REMINDER;
            }
        };
        // The scope waits for the watch to end, so a late interrupt cannot hit what comes afterwards.
        thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, watch) {
            Ok(_) => {
                let result = work(deadline);
                drop(done);
                result
            }
            Err(error) => {
                Err(failure(ffi::SQLITE_NOMEM, Some(format!("no thread to watch the time: {error}"))))
            }
        })
    }
}

fn failure(code: i32, message: Option<String>) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), message)
}

fn is_out_of_time(error: &Error, deadline: Instant) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) && Instant::now() >= deadline
}

/// What a single value shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// A point in time.
    Time(TimeForm),
    /// A day as text.
    Day,
    /// Anything else.
    Other,
}

/// How often each form was seen, in the order of the first time.
#[derive(Default)]
struct Tally {
    counts: Vec<(Seen, usize)>,
}

impl Tally {
    fn count(
        &mut self,
        connection: &Connection,
        table: &str,
        column: &str,
        deadline: Instant,
    ) -> Result<(), Error> {
        if Instant::now() >= deadline {
            return Err(failure(ffi::SQLITE_INTERRUPT, None));
        }
        // The inner bound keeps a column of NULLs from being read to its end.
        let sql = format!(
            "SELECT s.v FROM (SELECT t.{} AS v FROM main.{} AS t LIMIT 1000) AS s \
             WHERE s.v IS NOT NULL LIMIT 25",
            quoted(column),
            quoted(table)
        );
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let seen = look(row.get_ref(0)?);
            match self.counts.iter_mut().find(|(known, _)| *known == seen) {
                Some((_, count)) => *count += 1,
                None => self.counts.push((seen, 1)),
            }
        }
        Ok(())
    }

    /// The most frequent first; a point in time before others that are as frequent.
    fn ranked(&self) -> Vec<(Seen, usize)> {
        let mut ranked = self.counts.clone();
        ranked.sort_by_key(|(seen, count)| (usize::MAX - count, !matches!(seen, Seen::Time(_))));
        ranked
    }

    fn time_form(&self) -> Option<TimeForm> {
        match self.ranked().first() {
            Some((Seen::Time(form), _)) => Some(*form),
            _ => None,
        }
    }

    fn note(&self, place: &str) -> Option<String> {
        let ranked = self.ranked();
        let total: usize = ranked.iter().map(|(_, count)| count).sum();
        match ranked.as_slice() {
            [] | [(Seen::Time(_) | Seen::Day, _)] => None,
            [(Seen::Other, _)] => Some(format!("Column '{place}' writes times in a form that is not known")),
            _ => {
                let forms: Vec<String> =
                    ranked.iter().map(|(seen, count)| format!("{seen} ({count} of {total})")).collect();
                let list = forms.join(", ");
                Some(format!("Column '{place}' writes times in several forms, the first is assumed: {list}"))
            }
        }
    }
}

impl fmt::Display for Seen {
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

fn look(value: ValueRef<'_>) -> Seen {
    let numeric =
        |is_seconds| Seen::Time(if is_seconds { TimeForm::UnixSeconds } else { TimeForm::UnixMillis });
    match value {
        ValueRef::Integer(number) => numeric(number.unsigned_abs() <= MAX_SECONDS),
        ValueRef::Real(number) => numeric(number.abs() <= MAX_SECONDS as f64),
        ValueRef::Text(text) => look_at_text(text).unwrap_or(Seen::Other),
        ValueRef::Blob(_) | ValueRef::Null => Seen::Other,
    }
}

fn look_at_text(text: &[u8]) -> Option<Seen> {
    let (day, rest) = text.split_at_checked(10)?;
    if !has_shape(day, b"0000-00-00") {
        return None;
    }
    let Some((&separator, rest)) = rest.split_first() else { return Some(Seen::Day) };
    let (clock, rest) = rest.split_at_checked(8)?;
    if !matches!(separator, b'T' | b' ') || !has_shape(clock, b"00:00:00") {
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
    Some(Seen::Time(TimeForm::Text { separator: char::from(separator), fraction, zulu }))
}

/// Whether a text has the shape of another, in which each zero stands for any digit.
fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    let fits = |(byte, mold): (&u8, &u8)| if *mold == b'0' { byte.is_ascii_digit() } else { byte == mold };
    text.len() == shape.len() && text.iter().zip(shape).all(fits)
}

#[cfg(test)]
mod tests;
