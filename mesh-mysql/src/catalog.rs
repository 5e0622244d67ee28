//! The catalog: tables and views, read into a [`Catalog`].
//!
//! The database shows only tables that the account may use in some way, so other tables are left out.

mod indexes;
mod keys;
mod types;
mod watched;

use std::collections::{HashMap, HashSet};

use mesh_backend::Contents;
use mesh_backend::catalog::{sample, set_time_form, undeclared_times};
use mesh_plan::Value;
use mesh_schema::{Catalog, Column, Constraint, Table, TextSearch};
use mysql_async::{Error, Row};
use sea_query::{IntoTableRef as _, MysqlQueryBuilder};

pub(crate) use self::indexes::has_index;
use self::keys::Keys;
pub(crate) use self::keys::PRIMARY;
use crate::cells::{integer, optional_text, text};
use crate::pool::connection::Connection;
use crate::state::layout;

/// Reads the tables of the database of a connection, and returns them with notes for the log. `times` names tables and
/// columns that hold times although their types do not show it.
pub(super) async fn read(connection: &mut Connection, times: &[(String, String)]) -> Result<Contents, Error> {
    let mut notes = Vec::new();
    let mut columns = columns(connection, &mut notes).await?;
    let mut keys = Keys::read(connection).await?;
    let computed = computed_views(connection).await?;
    let provided = tables_with_insert_triggers(connection).await?;
    let mut tables = Vec::new();
    for row in connection.query(TABLES, &[]).await? {
        let (name, kind, comment) = (text(&row, 0), text(&row, 1), optional_text(&row, 2));
        if layout::TABLES.contains(&name.as_str()) {
            continue;
        }
        let is_view = kind == "VIEW";
        let Some(mut columns) = columns.remove(&name) else {
            notes.push(format!("Table '{name}' is left out: it has no columns to read"));
            continue;
        };
        for column in &mut columns {
            column.required &= !provided.contains(&name);
            column.generated |= computed.contains(&name);
        }
        let mut table = Table { name, columns, takes_no_index: is_view, ..Table::default() };
        // The comment of a view is the word VIEW.
        table.description = comment.filter(|comment| !is_view && !comment.is_empty());
        keys.move_to(&mut table);
        tables.push(table);
    }
    watched::mark(connection, &mut tables, &mut notes).await?;
    for (table, column) in undeclared_times(&mut tables, times) {
        let sql = sample::<MysqlQueryBuilder>(table.name.clone().into_table_ref(), column, "CHAR");
        let rows = connection.query(&sql, &[]).await?;
        set_time_form(column, &table, rows.iter().map(|row| text(row, 0)), &mut notes);
    }
    Ok(Contents { catalog: Catalog { tables, text_search: TextSearch::FullText }, notes })
}

const TABLES: &str = "SELECT TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE <> 'SEQUENCE' ORDER BY TABLE_NAME";

/// Returns the views that cannot be written.
async fn computed_views(connection: &mut Connection) -> Result<HashSet<String>, Error> {
    let sql = "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE() AND IS_UPDATABLE = 'NO'";
    Ok(connection.query(sql, &[]).await?.iter().map(|row| text(row, 0)).collect())
}

/// Returns the tables with a trigger that runs before an insert, and may provide values.
async fn tables_with_insert_triggers(connection: &mut Connection) -> Result<HashSet<String>, Error> {
    let sql = "SELECT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() \
               AND EVENT_MANIPULATION = 'INSERT' AND ACTION_TIMING = 'BEFORE'";
    Ok(connection.query(sql, &[]).await?.iter().map(|row| text(row, 0)).collect())
}

/// Returns the columns of each table, in their order.
async fn columns(
    connection: &mut Connection,
    notes: &mut Vec<String>,
) -> Result<HashMap<String, Vec<Column>>, Error> {
    let documents = documents(connection).await?;
    let sql = "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, \
                 COLUMN_COMMENT, COLLATION_NAME, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE \
               FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION";
    let mut columns: HashMap<String, Vec<Column>> = HashMap::new();
    for row in connection.query(sql, &[]).await? {
        let (table, name) = (text(&row, 0), text(&row, 1));
        let is_document = documents.contains(&(table.clone(), name.clone()));
        let Some((ty, native)) = types::column_type(&row, is_document) else {
            notes.push(format!("Column '{table}.{name}' is left out: its type is {}", text(&row, 2)));
            continue;
        };
        columns.entry(table).or_default().push(column(&row, name, ty, native));
    }
    Ok(columns)
}

fn column(row: &Row, name: String, ty: mesh_schema::FieldType, native: mesh_schema::NativeType) -> Column {
    let nullable = text(row, 4) == "YES";
    let extra = text(row, 6).to_ascii_lowercase();
    let generated = extra.contains("virtual generated") || extra.contains("stored generated");
    let is_provided = optional_text(row, 5).is_some() || extra.contains("auto_increment") || generated;
    Column {
        name,
        ty: Some(ty),
        nullable,
        required: !nullable && !is_provided,
        generated,
        description: optional_text(row, 7).filter(|comment| !comment.is_empty()),
        native: Some(native),
        ..Column::default()
    }
}

/// Returns the columns of MariaDB that are declared as JSON: text columns with a check that the text is JSON.
async fn documents(connection: &mut Connection) -> Result<HashSet<(String, String)>, Error> {
    let mut documents = HashSet::new();
    for (table, Constraint { name, columns }, clause) in keys::checks(connection).await? {
        let is_document = clause.trim_matches(['(', ')']).starts_with("json_valid(");
        if is_document && columns.len() == 1 {
            documents.insert((table, columns.into_iter().next().unwrap_or(name)));
        }
    }
    Ok(documents)
}

/// Returns a text as a parameter.
fn param(text: &str) -> Value {
    Value::from(text)
}

/// Reads a size from a cell.
fn size(row: &Row, index: usize) -> Option<u32> {
    integer(row, index).and_then(|size| u32::try_from(size).ok())
}
