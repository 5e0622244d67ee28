//! Time forms of text and number columns, detected from a few of their values. `SPEC §5.5`

use mesh_schema::{Column, Table, TableName, TimeForm};
use sea_query::{Expr, ExprTrait as _, PostgresQueryBuilder, Query};
use tokio_postgres::{Client, Error};

use crate::sql::{self, query};

/// The largest number that is interpreted as seconds, in the year 5138. As milliseconds it is in 1973.
const MAX_SECONDS: f64 = 100_000_000_000.0;

/// Detects the time forms of the named columns.
pub(super) async fn detect_time_forms(
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
                notes.push(format!("Column '{}.{}' has an unknown time form", table.name, column.name));
            }
        }
        table.columns = columns;
    }
    Ok(())
}

/// Returns the most frequent form of a few values. The inner limit bounds the read of a column of NULLs.
async fn form_of(client: &Client, table: &Table, column: &str) -> Result<Option<TimeForm>, Error> {
    let name = TableName { schema: table.schema.clone(), name: table.name.clone() };
    let value = || Expr::col(("s", "v"));
    let first = Query::select()
        .expr_as(Expr::col(("t", column.to_owned())), "v")
        .from_as(sql::table_ref(&name), "t")
        .limit(1_000)
        .take();
    let sql = Query::select()
        .expr(value().cast_as("text"))
        .from_subquery(first, "s")
        .and_where(value().is_not_null())
        .limit(25)
        .to_string(PostgresQueryBuilder);
    let mut counts: Vec<(TimeForm, usize)> = Vec::new();
    for form in query(client, &sql, &[]).await?.iter().filter_map(|row| parse_form(row.get(0))) {
        match counts.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => counts.push((form, 1)),
        }
    }
    Ok(counts.into_iter().max_by_key(|(_, count)| *count).map(|(form, _)| form))
}

fn parse_form(text: &str) -> Option<TimeForm> {
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

/// Whether a text has the shape of another, in which a zero represents any digit.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits =
        |(byte, expected): (u8, u8)| if expected == b'0' { byte.is_ascii_digit() } else { byte == expected };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}
