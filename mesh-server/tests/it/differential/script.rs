//! SQL scripts of tables with their rows, to reproduce a failure.

use std::fmt::Write as _;

use mesh_plan::Value;

/// A column as both databases declare it.
#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// The statements that create the tables in both databases.
#[derive(Default)]
pub(crate) struct Scripts {
    pub(crate) sqlite: String,
    pub(crate) postgres: String,
}

impl Scripts {
    /// Adds a table and its rows.
    pub(crate) fn add_table(
        &mut self,
        table: &str,
        columns: &[Column],
        constraint: &str,
        options: &str,
        rows: &[Vec<Value>],
    ) {
        let Self { sqlite, postgres } = self;
        let table = quoted(table);
        let list = |of: fn(&Column) -> &'static str| {
            let columns: Vec<_> =
                columns.iter().map(|column| format!("{} {}", quoted(&column.name), of(column))).collect();
            columns.join(", ")
        };
        writeln!(sqlite, "CREATE TABLE {table} ({}{constraint}){options};", list(|it| it.sqlite)).unwrap();
        // A column with SQLite's row ids, which rows are ordered by.
        let row_ids = if options.is_empty() { ", rowid bigint" } else { "" };
        writeln!(postgres, "CREATE TABLE {table} ({}{row_ids}{constraint});", list(|it| it.postgres))
            .unwrap();
        for (row, number) in rows.iter().zip(1..) {
            let cells: Vec<_> = row.iter().map(literal).collect();
            writeln!(sqlite, "INSERT INTO {table} VALUES ({});", cells.join(", ")).unwrap();
            let cells = row.iter().zip(columns).map(|(value, column)| typed(value, column.postgres));
            let row_id = (!row_ids.is_empty()).then(|| row_number(row, columns, number));
            let cells: Vec<_> = cells.chain(row_id).collect();
            writeln!(postgres, "INSERT INTO {table} VALUES ({});", cells.join(", ")).unwrap();
        }
    }
}

/// Returns the row id of a row in SQLite: its integer key, if it has one.
fn row_number(row: &[Value], columns: &[Column], number: i32) -> String {
    let key = columns.iter().position(|column| column.sqlite == "INTEGER PRIMARY KEY");
    key.map_or_else(|| number.to_string(), |key| literal(&row[key]))
}

/// Returns a value as an expression of PostgreSQL.
fn typed(value: &Value, ty: &str) -> String {
    match value {
        Value::Integer(value) if ty == "boolean" => (*value != 0).to_string(),
        Value::Bytes(_) => format!("'\\{}'", literal(value).replace('\'', "")),
        value if ty.starts_with("text") && !matches!(value, Value::Null | Value::Text(_)) => {
            format!("'{}'", literal(value))
        }
        value => literal(value),
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(value) => u8::from(*value).to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => format!("{value:?}"),
        Value::Text(value) => format!("'{}'", value.replace('\'', "''")),
        Value::Bytes(value) => {
            let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{digits}'")
        }
    }
}
