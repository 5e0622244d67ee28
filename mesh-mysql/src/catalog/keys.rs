//! Keys, unique indexes and other constraints.

use std::collections::HashMap;

use mesh_schema::{Constraint, ForeignKey, Table, TextIndex};
use mesh_sql::text;
use mysql_async::Error;

use crate::cells::{integer, optional_text, text as cell};
use crate::pool::connection::Connection;

/// The name of the index of a primary key.
pub(crate) const PRIMARY: &str = "PRIMARY";

/// The keys of all tables, by the names of the tables.
#[derive(Default)]
pub(super) struct Keys {
    /// The unique indexes, each with a flag that states whether it consists of whole columns only.
    unique: HashMap<String, Vec<(Constraint, bool)>>,
    text: HashMap<String, Vec<TextIndex>>,
    foreign: HashMap<String, Vec<(String, ForeignKey)>>,
    checks: HashMap<String, Vec<Constraint>>,
}

impl Keys {
    pub(super) async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let mut keys = Self::default();
        let sql = "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS \
                   WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 0 ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";
        for row in connection.query(sql, &[]).await? {
            let (name, column) = (cell(&row, 1), optional_text(&row, 2));
            let is_whole = column.is_some() && integer(&row, 3).is_none();
            let indexes = keys.unique.entry(cell(&row, 0)).or_default();
            match indexes.last_mut() {
                Some((index, whole)) if index.name == name => {
                    index.columns.extend(column);
                    *whole &= is_whole;
                }
                _ => indexes.push((Constraint { name, columns: column.into_iter().collect() }, is_whole)),
            }
        }
        let sql = "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS \
                   WHERE TABLE_SCHEMA = DATABASE() AND INDEX_TYPE = 'FULLTEXT' ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";
        for row in connection.query(sql, &[]).await? {
            let (name, column) = (cell(&row, 1), cell(&row, 2));
            let indexes = keys.text.entry(cell(&row, 0)).or_default();
            match indexes.last_mut() {
                Some(index) if index.name == name => index.columns.push(column),
                _ => indexes.push(TextIndex { name, columns: vec![column], ..TextIndex::default() }),
            }
        }
        let sql = "SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME, \
                     NULLIF(REFERENCED_TABLE_SCHEMA, DATABASE()) \
                   FROM information_schema.KEY_COLUMN_USAGE \
                   WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL \
                   ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION";
        for row in connection.query(sql, &[]).await? {
            let (name, column, target) = (cell(&row, 1), cell(&row, 2), cell(&row, 4));
            let foreign = keys.foreign.entry(cell(&row, 0)).or_default();
            match foreign.last_mut() {
                Some((known, key)) if *known == name => {
                    key.columns.push(column);
                    key.target_columns.push(target);
                }
                _ => foreign.push((
                    name,
                    ForeignKey {
                        columns: vec![column],
                        target_schema: optional_text(&row, 5),
                        target: cell(&row, 3),
                        target_columns: vec![target],
                    },
                )),
            }
        }
        for (table, check, _) in checks(connection).await? {
            keys.checks.entry(table).or_default().push(check);
        }
        Ok(keys)
    }

    /// Moves the keys of a table to it.
    pub(super) fn move_to(&mut self, table: &mut Table) {
        let is_readable = |columns: &[String]| {
            columns.iter().all(|name| table.columns.iter().any(|column| column.name == *name))
        };
        for (index, is_whole) in self.unique.remove(&table.name).unwrap_or_default() {
            if is_whole && is_readable(&index.columns) {
                match index.name.as_str() {
                    PRIMARY => table.primary_key.clone_from(&index.columns),
                    _ => table.unique.push(index.columns.clone()),
                }
            }
            table.constraints.push(index);
        }
        table.text_indexes = self.text.remove(&table.name).unwrap_or_default();
        for (name, key) in self.foreign.remove(&table.name).unwrap_or_default() {
            table.constraints.push(Constraint { name, columns: key.columns.clone() });
            if is_readable(&key.columns) {
                table.foreign_keys.push(key);
            }
        }
        for check in self.checks.remove(&table.name).unwrap_or_default() {
            let names = table.columns.iter().map(|column| column.name.as_str());
            let tokens: Vec<_> = check.columns.into_iter().map(text::Token::Quoted).collect();
            let columns = text::columns(&tokens, names).into_iter().map(str::to_owned).collect();
            table.constraints.push(Constraint { name: check.name, columns });
        }
    }
}

/// Returns the check constraints of tables: the table, the constraint with the names in its condition, and the
/// condition.
pub(super) async fn checks(connection: &mut Connection) -> Result<Vec<(String, Constraint, String)>, Error> {
    let sql = "SELECT TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS \
               WHERE CONSTRAINT_SCHEMA = DATABASE()";
    let rows = connection.query(sql, &[]).await?;
    let checks = rows.iter().map(|row| {
        let clause = cell(row, 2);
        let columns = text::names(&text::tokens(&clause)).into_iter().map(str::to_owned).collect();
        (cell(row, 0), Constraint { name: cell(row, 1), columns }, clause)
    });
    Ok(checks.collect())
}
