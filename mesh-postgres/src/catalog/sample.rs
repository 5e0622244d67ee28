//! Time forms of text and number columns, detected from a few of their values. `SPEC §5.5`

use mesh_schema::{Column, Table, TimeForm};
use tokio_postgres::{Client, Error};

use super::rows;
use crate::quote::identifier as quoted;

/// The largest number that is taken for seconds, some time in the year 5138; milliseconds pass it in 1973.
const MAX_SECONDS: f64 = 100_000_000_000.0;

/// Finds out how the named columns write times.
pub(super) async fn fill_time_forms(
    client: &Client,
    tables: &mut [Table],
    times: &[(String, String)],
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    for table in tables {
        let is_named = |table: &str, column: &Column| {
            let same = |(of, name): &(String, String)| of == table && *name == column.name;
            times.iter().any(same)
        };
        let mut columns = std::mem::take(&mut table.columns);
        for column in columns.iter_mut().filter(|column| is_named(&table.name, column)) {
            let native = column.native.as_ref().map(|native| native.name.as_str());
            if matches!(native, Some("date" | "timestamp" | "timestamptz")) {
                continue;
            }
            column.time_form = form_of(client, table, &column.name).await?;
            if column.time_form.is_none() {
                let place = format!("{}.{}", table.name, column.name);
                notes.push(format!("How column '{place}' writes times is not known"));
            }
        }
        table.columns = columns;
    }
    Ok(())
}

/// The form of most of a few values. The inner bound keeps a column of NULLs from being read to its end.
async fn form_of(client: &Client, table: &Table, column: &str) -> Result<Option<TimeForm>, Error> {
    let name = quoted(&table.name);
    let from =
        table.schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{}.{name}", quoted(schema)));
    let sql = format!(
        "SELECT s.v::text FROM (SELECT {} AS v FROM {from} LIMIT 1000) AS s WHERE s.v IS NOT NULL LIMIT 25",
        quoted(column)
    );
    let mut counts: Vec<(TimeForm, usize)> = Vec::new();
    for form in rows(client, &sql).await?.iter().filter_map(|row| look(row.get(0)?)) {
        match counts.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => counts.push((form, 1)),
        }
    }
    Ok(counts.into_iter().max_by_key(|(_, count)| *count).map(|(form, _)| form))
}

fn look(text: &str) -> Option<TimeForm> {
    if let Ok(number) = text.parse::<f64>() {
        return Some(if number.abs() <= MAX_SECONDS { TimeForm::UnixSeconds } else { TimeForm::UnixMillis });
    }
    let (day, rest) = text.split_at_checked(10)?;
    let (separator, rest) = rest.split_at_checked(1)?;
    let (clock, rest) = rest.split_at_checked(8)?;
    if !has_shape(day, "0000-00-00") || !matches!(separator, "T" | " ") || !has_shape(clock, "00:00:00") {
        return None;
    }
    let (rest, zulu) = rest.strip_suffix('Z').map_or((rest, false), |rest| (rest, true));
    let fraction = match rest.strip_prefix('.') {
        None if rest.is_empty() => 0,
        Some(digits) if (1..=9).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit()) => {
            u8::try_from(digits.len()).ok()?
        }
        _ => return None,
    };
    Some(TimeForm::Text { separator: separator.chars().next()?, fraction, zulu })
}

/// Whether a text has the shape of another, in which each zero stands for any digit.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, mold): (u8, u8)| if mold == b'0' { byte.is_ascii_digit() } else { byte == mold };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}
