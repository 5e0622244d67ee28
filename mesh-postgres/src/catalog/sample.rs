//! Time forms of text and number columns, detected from a few of their values. `SPEC §5.5`

use mesh_schema::{Table, TableName, TimeForm};
use sea_query::{Expr, ExprTrait as _, PostgresQueryBuilder, Query};
use tokio_postgres::Error;

use crate::pool::connection::Connection;
use crate::sql;

/// The largest number that is interpreted as seconds, in the year 5138. As milliseconds it is in 1973.
const MAX_SECONDS: f64 = 100_000_000_000.0;

/// Detects the time forms of the named columns.
pub(super) async fn detect_time_forms(
    link: &Connection,
    (tables, default): (&mut [Table], Option<&String>),
    times: &[(String, String)],
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    for table in tables {
        let name = TableName { schema: table.schema.clone(), name: table.name.clone() };
        for column in &mut table.columns {
            let is_named = |(of, named): &(String, String)| *of == name.name && *named == column.name;
            let native = column.native.as_ref().map(|native| native.name.as_str());
            if !times.iter().any(is_named) || matches!(native, Some("date" | "timestamp" | "timestamptz")) {
                continue;
            }
            let qualified = sql::qualified(&name, default);
            column.time_form = sample(link, &qualified, &column.name).await?;
            if column.time_form.is_none() {
                notes.push(format!("Column '{}.{}' has an unknown time form", name.name, column.name));
            }
        }
    }
    Ok(())
}

/// Returns the most frequent form of a few values. The inner limit bounds the read of a column of NULLs.
async fn sample(link: &Connection, table: &TableName, column: &str) -> Result<Option<TimeForm>, Error> {
    let value = || Expr::col(("s", "v"));
    let first = Query::select()
        .expr_as(Expr::col(("t", column.to_owned())), "v")
        .from_as(sql::table_ref(table), "t")
        .limit(1_000)
        .take();
    let sql = Query::select()
        .expr(value().cast_as("text"))
        .from_subquery(first, "s")
        .and_where(value().is_not_null())
        .limit(25)
        .to_string(PostgresQueryBuilder);
    let mut counts: Vec<(TimeForm, usize)> = Vec::new();
    for form in link.query_once(&sql, &[]).await?.iter().filter_map(|row| parse_form(row.get(0))) {
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
    let shape: String = text.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    let rest = shape.strip_prefix("0000-00-00")?;
    let separator = rest.chars().next().filter(|char| matches!(char, 'T' | ' '))?;
    let rest = rest.get(1..)?.strip_prefix("00:00:00")?;
    let (rest, zulu) = rest.strip_suffix('Z').map_or((rest, false), |rest| (rest, true));
    let fraction = match rest.strip_prefix('.') {
        None if rest.is_empty() => 0,
        Some(digits) if (1..=9).contains(&digits.len()) && digits.bytes().all(|digit| digit == b'0') => {
            u8::try_from(digits.len()).ok()?
        }
        _ => return None,
    };
    Some(TimeForm::Text { separator, fraction, zulu })
}
