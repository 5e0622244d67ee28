//! What back ends find out about tables in the same way: time forms of columns, and indexes.

use mesh_schema::{Column, FieldType, Table, TableName, TimeForm};
use sea_query::{Expr, ExprTrait as _, Query, QueryBuilder, TableRef};

/// The largest number that is interpreted as seconds, in the year 5138. As milliseconds it is in 1973.
const MAX_SECONDS: f64 = 100_000_000_000.0;
/// The length of the longest text with a time form.
const MAX_TEXT: usize = "0000-00-00T00:00:00.000000000Z".len();

/// Returns whether an index begins with these columns in any order. `parts` are the columns of all indexes of a table, one index
/// after the other, each with its place in the index, from 1 on. An expression has no column.
pub fn is_indexed(parts: impl Iterator<Item = (usize, Option<String>)>, columns: &[String]) -> bool {
    let mut found = 0;
    for (place, column) in parts {
        if place == 1 {
            found = 0;
        }
        if place <= columns.len() && column.is_some_and(|column| columns.contains(&column)) {
            found += 1;
        }
        if found == columns.len() {
            return true;
        }
    }
    false
}

/// Returns the columns that are named as columns of times although their types do not show it, each with its table.
/// `SPEC §5.5`
pub fn undeclared_times<'t>(
    tables: &'t mut [Table],
    times: &'t [(String, String)],
) -> impl Iterator<Item = (TableName, &'t mut Column)> {
    tables.iter_mut().flat_map(move |table| {
        let name = TableName { schema: table.schema.clone(), name: table.name.clone() };
        table.columns.iter_mut().filter_map(move |column| {
            let is_named = |(of, named): &(String, String)| *of == name.name && *named == column.name;
            let is_declared = matches!(column.ty, Some(FieldType::Date | FieldType::Datetime));
            (!is_declared && times.iter().any(is_named)).then(|| (name.clone(), column))
        })
    })
}

/// Returns the statement that reads a few values of a column as texts of a type. The inner limit bounds the read of a column of
/// NULLs.
pub fn sample<B: QueryBuilder + Default>(table: TableRef, column: &Column, text: &'static str) -> String {
    let value = || Expr::col(("s", "v"));
    let cell = Expr::col(("t", column.name.clone()));
    let first = Query::select().expr_as(cell, "v").from_as(table, "t").limit(1_000).take();
    let mut select = Query::select();
    select.expr(value().cast_as(text)).from_subquery(first, "s").and_where(value().is_not_null()).limit(25);
    select.to_string(B::default())
}

/// Sets the time form of a column to the most frequent one of its values, or adds a note that it is unknown.
pub fn set_time_form(
    column: &mut Column,
    table: &TableName,
    values: impl Iterator<Item = String>,
    notes: &mut Vec<String>,
) {
    let mut counts: Vec<(TimeForm, usize)> = Vec::new();
    for form in values.filter_map(|value| time_form(&value)) {
        match counts.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => counts.push((form, 1)),
        }
    }
    column.time_form = counts.into_iter().max_by_key(|(_, count)| *count).map(|(form, _)| form);
    if column.time_form.is_none() {
        notes.push(format!("Column '{}.{}' has an unknown time form", table.name, column.name));
    }
}

fn time_form(text: &str) -> Option<TimeForm> {
    text.parse().map_or_else(|_| text_form(text), |number| Some(number_form(number)))
}

/// Returns the time form of a number.
pub fn number_form(number: f64) -> TimeForm {
    if number.abs() <= MAX_SECONDS { TimeForm::UnixSeconds } else { TimeForm::UnixMillis }
}

/// Returns the time form of a text; `None` if it is not a day with a time of day.
pub fn text_form(text: &str) -> Option<TimeForm> {
    if text.len() > MAX_TEXT {
        return None;
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
