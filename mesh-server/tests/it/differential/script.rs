//! SQL scripts of tables with their rows, to reproduce a failure.

use std::fmt::Write as _;

use mesh_plan::Value;

/// A column as the databases declare it.
#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// The statements that create the tables in each database.
#[derive(Default)]
pub(crate) struct Scripts {
    pub(crate) sqlite: String,
    pub(crate) postgres: String,
    pub(crate) mysql: String,
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
        let Self { sqlite, postgres, mysql } = self;
        let (table_name, table) = (table, quoted(table));
        let list_quoted = |of: fn(&Column) -> &'static str, quoted: fn(&str) -> String| {
            let columns: Vec<_> =
                columns.iter().map(|column| format!("{} {}", quoted(&column.name), of(column))).collect();
            columns.join(", ")
        };
        let list = |of: fn(&Column) -> &'static str| list_quoted(of, quoted);
        writeln!(sqlite, "CREATE TABLE {table} ({}{constraint}){options};", list(|it| it.sqlite)).unwrap();
        // A column with SQLite's row ids, by which rows are ordered.
        let row_ids = if options.is_empty() { ", rowid bigint" } else { "" };
        writeln!(postgres, "CREATE TABLE {table} ({}{row_ids}{constraint});", list(|it| it.postgres))
            .unwrap();
        let backquoted_table = backquoted(table_name);
        let (columns_of_mysql, constraint_of_mysql) =
            (list_quoted(|it| mysql_type(it.postgres), backquoted), constraint.replace('"', "`"));
        writeln!(
            mysql,
            "CREATE TABLE {backquoted_table} ({columns_of_mysql}{row_ids}{constraint_of_mysql});"
        )
        .unwrap();
        for (row, number) in rows.iter().zip(1..) {
            let cells: Vec<_> = row.iter().map(literal).collect();
            writeln!(sqlite, "INSERT INTO {table} VALUES ({});", cells.join(", ")).unwrap();
            let cells = row.iter().zip(columns).map(|(value, column)| typed(value, column.postgres));
            let row_id = (!row_ids.is_empty()).then(|| row_number(row, columns, number));
            let cells: Vec<_> = cells.chain(row_id.clone()).collect();
            writeln!(postgres, "INSERT INTO {table} VALUES ({});", cells.join(", ")).unwrap();
            let cells: Vec<_> = row.iter().map(escaped).chain(row_id).collect();
            writeln!(mysql, "INSERT INTO {backquoted_table} VALUES ({});", cells.join(", ")).unwrap();
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

/// Returns the type of MySQL for one of PostgreSQL.
fn mysql_type(ty: &str) -> &'static str {
    match ty {
        "text" => "varchar(255)",
        "integer" => "int",
        "bigint" => "bigint",
        "double precision" => "double",
        "numeric" => "decimal(20, 2)",
        "boolean" => "boolean",
        "timestamp" => "datetime",
        "date" => "date",
        "json" | "jsonb" => "json",
        "bytea" => "varbinary(255)",
        other => panic!("the type {other} of PostgreSQL has no equivalent"),
    }
}

fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns a value as a literal of MySQL.
fn escaped(value: &Value) -> String {
    literal(value).replace('\\', "\\\\")
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
        Value::InvalidText(value) | Value::Bytes(value) => {
            let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{digits}'")
        }
    }
}
