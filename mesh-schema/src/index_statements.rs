//! The statements that create a missing index for a search, as the ends of messages. They can be pasted into a client of
//! the database. `SPEC §20.1`

use crate::{Table, TableName};

/// Returns the statements that create and fill an FTS5 table over a table of SQLite, and keep it up to date.
pub(crate) fn fts5(table: &Table, name: &str, key: &str, columns: &[&str]) -> String {
    let (on, content) = (quoted(&table.name, '"'), quoted(&table.name, '\''));
    let (fts, id, rowid) = (quoted(name, '"'), quoted(key, '"'), quoted(key, '\''));
    let trigger = |event: &str| quoted(&format!("{name}_{event}"), '"');
    let (inserted, deleted, updated) = (trigger("insert"), trigger("delete"), trigger("update"));
    let columns: Vec<String> = columns.iter().map(|column| quoted(column, '"')).collect();
    let of = |row: &str| columns.iter().map(|column| format!(", {row}.{column}")).collect::<String>();
    let (listed, old, new) = (columns.join(", "), of("old"), of("new"));
    let remove = format!("INSERT INTO {fts}({fts}, rowid, {listed}) VALUES ('delete', old.{id}{old});");
    let add = format!("INSERT INTO {fts}(rowid, {listed}) VALUES (new.{id}{new});");
    statements(&[
        format!("CREATE VIRTUAL TABLE {fts} USING fts5({listed}, content={content}, content_rowid={rowid});"),
        format!("CREATE TRIGGER {inserted} AFTER INSERT ON {on} BEGIN {add} END;"),
        format!("CREATE TRIGGER {deleted} AFTER DELETE ON {on} BEGIN {remove} END;"),
        format!("CREATE TRIGGER {updated} AFTER UPDATE ON {on} BEGIN {remove} {add} END;"),
        format!("INSERT INTO {fts}({fts}) VALUES ('rebuild');"),
    ])
}

/// Returns the statement that creates a GIN index in PostgreSQL over the expression of searches that have no index.
pub(crate) fn gin(table: &Table, language: &str, columns: &[&str]) -> String {
    let columns: Vec<String> =
        columns.iter().map(|column| format!("coalesce({}, '')", quoted(column, '"'))).collect();
    let TableName { schema, name } = table.full_name();
    let schema = schema.map(|schema| quoted(&schema, '"') + ".").unwrap_or_default();
    let (name, language) = (quoted(&name, '"'), quoted(language, '\''));
    let text = columns.join(" || ' ' || ");
    index(
        table,
        format!("CREATE INDEX ON {schema}{name} USING gin (to_tsvector({language}::regconfig, {text}));"),
    )
}

/// Returns the statement that creates a FULLTEXT index in MySQL or MariaDB.
pub(crate) fn full_text(table: &Table, columns: &[&str]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| quoted(column, '`')).collect();
    let (name, columns) = (quoted(&table.name, '`'), columns.join(", "));
    index(table, format!("ALTER TABLE {name} ADD FULLTEXT INDEX ({columns});"))
}

fn index(table: &Table, statement: String) -> String {
    if table.takes_no_index {
        return "; a view or foreign table cannot have one".to_owned();
    }
    statements(&[statement])
}

fn statements(lines: &[String]) -> String {
    let which = if lines.len() == 1 { "this creates one" } else { "these statements create it" };
    format!("; {which}:\n{}", lines.join("\n"))
}

/// Returns a name or text in quotation marks.
fn quoted(text: &str, mark: char) -> String {
    let doubled = [mark, mark].iter().collect::<String>();
    format!("{mark}{}{mark}", text.replace(mark, &doubled))
}
