//! How is a table written in SQL? With its rows, as text that can be read and run again.

use std::fmt::Write as _;

use mesh_plan::Value;

/// Adds a table and its rows to a script.
pub(crate) fn write_table(
    script: &mut String,
    table: &str,
    columns: &[(String, &str)],
    constraint: &str,
    options: &str,
    rows: &[Vec<Value>],
) {
    let columns: Vec<_> =
        columns.iter().map(|(name, declaration)| format!("{} {declaration}", quoted(name))).collect();
    writeln!(script, "CREATE TABLE {} ({}{constraint}){options};", quoted(table), columns.join(", "))
        .unwrap();
    for row in rows {
        let cells: Vec<_> = row.iter().map(literal).collect();
        writeln!(script, "INSERT INTO {} VALUES ({});", quoted(table), cells.join(", ")).unwrap();
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
