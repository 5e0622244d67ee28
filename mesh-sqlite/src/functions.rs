//! SQL functions that statements of plans call: `mesh_like`, `mesh_ilike`, `mesh_json`, `mesh_json_has`, `mesh_value`,
//! `mesh_period`, `mesh_search`, `mesh_relevance`, `mesh_element` and `mesh_sum`.
//!
//! `mesh_sum` is exact for integers if the total fits 64 bits (`SPEC §3.12`). The built-in `sum` fails if a running
//! sum overflows, even if the total does not.

use std::sync::Arc;

use mesh_plan::backend::{JsonPointer, JsonType, Pattern, PatternTooLong, Periods, SearchText, Total};
use mesh_ql::UnknownName;
use mesh_schema::{FieldType, TimeForm};
use mesh_sql::sqlite::{self, functions};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{FromSqlError, ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::cells::from_sql;
use crate::pool::interrupt::Interrupt;

/// Bytes of a text that are checked for valid encoding in a step.
const ENCODING_BYTES_PER_STEP: usize = 8;

/// Registers the functions on a connection. The interrupt ends long calls.
pub(crate) fn add_functions(connection: &Connection, interrupt: &Arc<Interrupt>) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    for (name, ignore_case) in [(functions::LIKE, false), (functions::ILIKE, true)] {
        let work = Arc::clone(interrupt);
        connection.create_scalar_function(name, 2, flags, move |call| like(call, ignore_case, &work))?;
    }
    for (name, result) in [(functions::SEARCH, found as SearchResult), (functions::RELEVANCE, occurrences)] {
        let work = Arc::clone(interrupt);
        connection.create_scalar_function(name, -1, flags, move |call| search(call, result, &work))?;
    }
    let [of_json, of_has, of_value, of_period, of_element] = [(); 5].map(|()| Arc::clone(interrupt));
    connection.create_scalar_function(functions::JSON, 3, flags, move |call| json(call, &of_json))?;
    connection.create_scalar_function(functions::JSON_HAS, 5, flags, move |call| json_has(call, &of_has))?;
    connection.create_scalar_function(functions::VALUE, 2, flags, move |call| value(call, &of_value))?;
    connection.create_scalar_function(functions::PERIOD, 4, flags, move |call| period(call, &of_period))?;
    connection
        .create_scalar_function(functions::ELEMENT, 1, flags, move |call| element(call, &of_element))?;
    connection.create_aggregate_function(functions::SUM, 1, flags, Sum)
}

/// Calls `mesh_like` or `mesh_ilike` with a text and a pattern. The pattern is compiled once for each run of a
/// statement.
fn like(call: &Context<'_>, ignore_case: bool, work: &Interrupt) -> Result<Option<bool>> {
    let pattern = call.get_or_create_aux(1, |value| -> std::result::Result<Pattern, FromSqlError> {
        let pattern = value.as_str()?;
        Pattern::new(pattern, ignore_case)
            .map_err(|error: PatternTooLong| FromSqlError::Other(Box::new(error)))
    })?;
    Ok(match call.get_raw(0) {
        ValueRef::Null => None,
        ValueRef::Text(text) => {
            work.spend(text.len() / ENCODING_BYTES_PER_STEP)?;
            Some(pattern.try_matches(&String::from_utf8_lossy(text), |steps| work.spend(steps))?)
        }
        _ => Some(false),
    })
}

/// Calls `mesh_json` with a document, a pointer and the name of a type.
fn json(call: &Context<'_>, work: &Interrupt) -> Result<ToSqlOutput<'static>> {
    let (pointer, ty) = json_value(call)?;
    Ok(result(pointer.find(argument(call, work)?, ty)))
}

/// Calls `mesh_json_has` with a document, a pointer, the name of a type, a list of values, and whether all of them are looked for.
/// The list is parsed once for each run of a statement.
fn json_has(call: &Context<'_>, work: &Interrupt) -> Result<Option<bool>> {
    let (pointer, ty) = json_value(call)?;
    let values =
        call.get_or_create_aux(3, |list| -> std::result::Result<Vec<mesh_plan::Value>, FromSqlError> {
            Ok(sqlite::elements(list.as_str()?))
        })?;
    let document = argument(call, work)?;
    if let mesh_plan::ValueRef::Text(text) = document {
        // Each element is compared with each value.
        work.spend(text.len().saturating_mul(values.len() / 8))?;
    }
    Ok(pointer.has(document, ty, &values, call.get(4)?))
}

/// Returns the pointer and the type in the second and third argument. The pointer is parsed once for each run of a statement.
fn json_value(call: &Context<'_>) -> Result<(Arc<JsonPointer>, JsonType)> {
    let pointer = call.get_or_create_aux(1, |value| -> std::result::Result<JsonPointer, FromSqlError> {
        Ok(JsonPointer::new(value.as_str()?))
    })?;
    let ty = call.get_raw(2).as_str().ok().and_then(|name| name.parse().ok()).unwrap_or(JsonType::Any);
    Ok((pointer, ty))
}

/// Calls `mesh_value` with a value and the name of a type.
fn value(call: &Context<'_>, work: &Interrupt) -> Result<ToSqlOutput<'static>> {
    let ty = call.get_raw(1).as_str().ok().and_then(|name| name.parse::<FieldType>().ok());
    Ok(result(mesh_plan::backend::canonical(ty, argument(call, work)?)))
}

/// The error message for an unknown time zone, which is followed by its name.
pub(crate) const UNKNOWN_ZONE: &str = "unknown time zone: ";

/// Calls `mesh_period` with a value, the name of a unit, the form of times and the name of a zone. The zone is looked up once
/// for each run of a statement.
fn period(call: &Context<'_>, work: &Interrupt) -> Result<ToSqlOutput<'static>> {
    let text = |index| call.get_raw(index).as_str().unwrap_or_default();
    let periods = call.get_or_create_aux(3, |zone| -> Result<Periods, FromSqlError> {
        let unit = text(1).parse().map_err(|error: UnknownName| FromSqlError::Other(error.into()))?;
        let forms = [TimeForm::UnixSeconds, TimeForm::UnixMillis].map(Some);
        let form = forms.into_iter().find(|form| sqlite::time_form_name(*form) == text(2)).flatten();
        let unknown = || FromSqlError::Other(format!("{UNKNOWN_ZONE}{}", text(3)).into());
        Periods::new(unit, form, zone.as_str_or_null()?).ok_or_else(unknown)
    })?;
    Ok(result(periods.period_of(argument(call, work)?)))
}

/// The result of a search of texts.
type SearchResult = fn(&SearchText, &[&str]) -> i64;

fn found(search: &SearchText, texts: &[&str]) -> i64 {
    search.matches(texts).into()
}

fn occurrences(search: &SearchText, texts: &[&str]) -> i64 {
    search.occurrences(texts) as i64
}

/// Calls `mesh_search` or `mesh_relevance` with the text of a search and the columns. The text is parsed once for each run of a
/// statement.
fn search(call: &Context<'_>, result: SearchResult, work: &Interrupt) -> Result<i64> {
    let search = call.get_or_create_aux(0, |text| -> std::result::Result<SearchText, FromSqlError> {
        Ok(SearchText::parse(text.as_str()?))
    })?;
    let mut texts = Vec::with_capacity(call.len());
    for index in 1..call.len() {
        if let ValueRef::Text(text) = call.get_raw(index) {
            work.spend(text.len())?;
            texts.push(String::from_utf8_lossy(text));
        }
    }
    Ok(result(&search, &texts.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
}

/// Calls `mesh_element` with an element of a list.
fn element(call: &Context<'_>, work: &Interrupt) -> Result<ToSqlOutput<'static>> {
    Ok(result(sqlite::element(argument(call, work)?)))
}

/// Returns the first argument.
fn argument<'c>(call: &'c Context<'_>, work: &Interrupt) -> Result<mesh_plan::ValueRef<'c>> {
    let value = from_sql(call.get_raw(0));
    if let mesh_plan::ValueRef::Text(text) = value {
        work.spend(text.len())?;
    }
    Ok(value)
}

fn result(value: mesh_plan::Value) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(match value {
        mesh_plan::Value::Null => Value::Null,
        mesh_plan::Value::Boolean(value) => Value::Integer(value.into()),
        mesh_plan::Value::Integer(value) => Value::Integer(value),
        mesh_plan::Value::Real(value) => Value::Real(value),
        mesh_plan::Value::Text(text) => Value::Text(text),
        // rusqlite cannot return text that is not UTF-8.
        mesh_plan::Value::InvalidText(bytes) | mesh_plan::Value::Bytes(bytes) => Value::Blob(bytes),
    })
}

/// The error message for a total beyond 64 bits, the same as for the built-in `sum`.
pub(crate) const OVERFLOW: &str = "integer overflow";

/// The aggregate function `mesh_sum`.
struct Sum;

impl Aggregate<Total, ToSqlOutput<'static>> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Total> {
        Ok(Total::default())
    }

    fn step(&self, call: &mut Context<'_>, total: &mut Total) -> Result<()> {
        total.add(&from_sql(call.get_raw(0)).to_value());
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, total: Option<Total>) -> Result<ToSqlOutput<'static>> {
        let sum = total.unwrap_or_default().sum();
        sum.map(result).map_err(|_| Error::UserFunctionError(OVERFLOW.into()))
    }
}
