//! Generation of the fixture's SQL for SQLite, PostgreSQL and MySQL from one file of rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::case::folder;
use crate::encoding;
use crate::files;

/// The SQL dialects of the fixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MySql,
}

impl Dialect {
    /// All dialects with the files of their statements.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Sqlite, "sqlite.sql"), (Self::Postgres, "postgres.sql"), (Self::MySql, "mysql.sql")];

    fn quoted(self, name: &str) -> String {
        let mark = if self == Self::MySql { '`' } else { '"' };
        format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
    }

    fn text(self, value: &str) -> String {
        let value = value.replace('\'', "''");
        if self == Self::MySql { format!("'{}'", value.replace('\\', "\\\\")) } else { format!("'{value}'") }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(rename = "about")]
    _about: String,
    tables: Vec<Table>,
    /// Views of servers that can be made to fail, with their statements by dialect.
    #[serde(default)]
    views: Vec<View>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct View {
    view: String,
    sqlite: String,
    postgres: String,
    mysql: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Table {
    table: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
    #[serde(default)]
    primary_key: Vec<String>,
    /// Whether cases insert rows.
    #[serde(default)]
    writable: bool,
    /// The columns of the table's full-text index.
    #[serde(default)]
    search: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    key: bool,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    unique: bool,
    #[serde(default)]
    references: Option<String>,
    /// Whether SQLite stores a space between day and time instead of a `T`.
    #[serde(default)]
    blank: bool,
}

/// Returns the path of a file of the fixture in this repository, for servers that are started in it.
#[must_use]
pub fn file(name: &str) -> PathBuf {
    folder().join("fixture").join(name)
}

/// Generates the statements that create the fixture in an empty database.
pub fn sql(dialect: Dialect) -> Result<String, String> {
    let text = files::text("fixture/data.json")?;
    let data: Data = serde_json::from_str(text).map_err(|error| format!("data.json: {error}"))?;
    let mut out = String::from("-- Made from data.json by the conformance kit; change that file instead.\n");
    for table in &data.tables {
        create(&mut out, table, dialect);
        insert(&mut out, table, dialect);
        index_words(&mut out, table, dialect);
    }
    for view in &data.views {
        let statement = match dialect {
            Dialect::Sqlite => &view.sqlite,
            Dialect::Postgres => &view.postgres,
            Dialect::MySql => &view.mysql,
        };
        let _ = writeln!(out, "\nCREATE VIEW {} AS\n{statement};", dialect.quoted(&view.view));
    }
    Ok(out)
}

fn create(out: &mut String, table: &Table, dialect: Dialect) {
    let mut parts: Vec<String> =
        table.columns.iter().map(|column| definition(column, table, dialect)).collect();
    if !table.primary_key.is_empty() {
        let names: Vec<String> = table.primary_key.iter().map(|name| dialect.quoted(name)).collect();
        parts.push(format!("PRIMARY KEY ({})", names.join(", ")));
    }
    let has_key = table.columns.iter().any(|column| column.key) || !table.primary_key.is_empty();
    if dialect == Dialect::MySql && !has_key {
        // MySQL rows have no implicit number.
        parts.push("`row_number` bigint AUTO_INCREMENT INVISIBLE PRIMARY KEY".to_owned());
    }
    if dialect == Dialect::MySql {
        // MySQL ignores references in column definitions.
        parts.extend(table.columns.iter().filter_map(|column| {
            Some(format!(
                "FOREIGN KEY ({}){}",
                dialect.quoted(&column.name),
                references(column.references.as_deref()?, dialect)
            ))
        }));
    }
    // The ids of new rows begin after those of the fixture.
    let options = if dialect == Dialect::MySql && table.writable { " AUTO_INCREMENT = 1001" } else { "" };
    let (name, parts) = (dialect.quoted(&table.table), parts.join(",\n  "));
    let _ = writeln!(out, "\nCREATE TABLE {name} (\n  {parts}\n){options};");
}

fn definition(column: &Column, table: &Table, dialect: Dialect) -> String {
    let in_key = column.key || column.unique || table.primary_key.contains(&column.name);
    let is_key = in_key || column.references.is_some();
    let kind = match (dialect, column.kind.as_str()) {
        // MySQL requires a maximum length for keys.
        (Dialect::MySql, "text") if is_key => "varchar(255) COLLATE utf8mb4_bin",
        _ => kind(&column.kind, dialect),
    };
    let mut text = format!("{} {kind}", dialect.quoted(&column.name));
    if column.key && table.writable && dialect == Dialect::MySql {
        text.push_str(" AUTO_INCREMENT");
    }
    if column.key && table.writable && dialect == Dialect::Postgres {
        text.push_str(" GENERATED BY DEFAULT AS IDENTITY (START WITH 1001)");
    }
    // The id of a deleted row must not be reused for a row of another case.
    let key = if table.writable && dialect == Dialect::Sqlite {
        " PRIMARY KEY AUTOINCREMENT"
    } else {
        " PRIMARY KEY"
    };
    let attributes = [(column.key, key), (column.required, " NOT NULL"), (column.unique, " UNIQUE")];
    attributes.iter().filter(|(has, _)| *has).for_each(|(_, words)| text.push_str(words));
    if let Some(to) = column.references.as_deref().filter(|_| dialect != Dialect::MySql) {
        text.push_str(&references(to, dialect));
    }
    text
}

/// Creates the table's full-text index.
fn index_words(out: &mut String, table: &Table, dialect: Dialect) {
    if table.search.is_empty() {
        return;
    }
    let name = dialect.quoted(&table.table);
    let columns: Vec<String> = table.search.iter().map(|column| dialect.quoted(column)).collect();
    let _ = match dialect {
        Dialect::Sqlite => {
            let index = dialect.quoted(&format!("{}_search", table.table));
            let (columns, content) = (columns.join(", "), dialect.text(&table.table));
            writeln!(
                out,
                "CREATE VIRTUAL TABLE {index} USING fts5({columns}, content={content}, content_rowid='id');\n\
                 INSERT INTO {index} ({index}) VALUES ('rebuild');"
            )
        }
        Dialect::Postgres => {
            let texts: Vec<_> = columns.iter().map(|column| format!("coalesce({column}, '')")).collect();
            let texts = texts.join(" || ' ' || ");
            writeln!(out, "CREATE INDEX ON {name} USING gin (to_tsvector('simple', {texts}));")
        }
        Dialect::MySql => writeln!(out, "ALTER TABLE {name} ADD FULLTEXT INDEX ({});", columns.join(", ")),
    };
}

/// Returns the reference of a key to a column, which is written `table.column`.
fn references(to: &str, dialect: Dialect) -> String {
    let (table, column) = to.split_once('.').unwrap_or((to, "id"));
    format!(" REFERENCES {} ({})", dialect.quoted(table), dialect.quoted(column))
}

fn kind(name: &str, dialect: Dialect) -> &'static str {
    let names: BTreeMap<&str, [&str; 3]> = BTreeMap::from([
        ("integer", ["INTEGER", "integer", "int"]),
        ("bigint", ["BIGINT", "bigint", "bigint"]),
        ("number", ["REAL", "double precision", "double"]),
        // Text is ordered by bytes in all databases, so that one expected order fits all.
        ("text", ["TEXT", "text COLLATE \"C\"", "longtext COLLATE utf8mb4_bin"]),
        // Searches ignore case where the collation does.
        ("words", ["TEXT", "text", "text COLLATE utf8mb4_general_ci"]),
        ("boolean", ["BOOLEAN", "boolean", "boolean"]),
        ("datetime", ["DATETIME", "timestamp", "datetime(6)"]),
        ("date", ["DATE", "date", "date"]),
        ("json", ["JSON", "json", "json"]),
        ("binary", ["BLOB", "bytea", "longblob"]),
        ("uuid", ["TEXT", "uuid", "char(36) COLLATE utf8mb4_bin"]),
        ("decimal", ["DECIMAL", "numeric", "decimal(20, 3)"]),
    ]);
    let [sqlite, postgres, mysql] = names.get(name).copied().unwrap_or(["TEXT", "text", "longtext"]);
    match dialect {
        Dialect::Sqlite => sqlite,
        Dialect::Postgres => postgres,
        Dialect::MySql => mysql,
    }
}

fn insert(out: &mut String, table: &Table, dialect: Dialect) {
    if table.rows.is_empty() {
        return;
    }
    let rows = table.rows.iter().map(|row| {
        let values = table.columns.iter().zip(row).map(|(column, value)| literal(column, value, dialect));
        format!("  ({})", values.collect::<Vec<_>>().join(", "))
    });
    let rows = rows.collect::<Vec<_>>().join(",\n");
    let _ = writeln!(out, "INSERT INTO {} VALUES\n{rows};", dialect.quoted(&table.table));
}

fn literal(column: &Column, value: &Value, dialect: Dialect) -> String {
    let sqlite = dialect == Dialect::Sqlite;
    let text = |value: &str| dialect.text(value);
    match (column.kind.as_str(), value) {
        (_, Value::Null) if column.kind != "json" => "NULL".to_owned(),
        ("json", Value::Null) => "NULL".to_owned(),
        // JSON null has this form, because null is NULL.
        ("json", value) => text(&value.get("@json").unwrap_or(value).to_string()),
        ("boolean", Value::Bool(value)) if sqlite => u8::from(*value).to_string(),
        ("binary", Value::String(base64)) => {
            let bytes = encoding::from_base64(base64).unwrap_or_default();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            if dialect == Dialect::Postgres { format!("'\\x{hex}'") } else { format!("X'{hex}'") }
        }
        ("datetime", Value::String(moment)) if column.blank && sqlite => text(&moment.replace('T', " ")),
        ("bigint" | "decimal", Value::String(digits)) => digits.clone(),
        (_, Value::String(value)) => text(value),
        (_, value) => value.to_string(),
    }
}
