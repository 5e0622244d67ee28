//! The catalog: tables, views and virtual tables, read into a [`Catalog`].
//!
//! An object that cannot be read is left out with a note, and does not hide the others.

mod declared;
mod keys;
mod sample;

use std::collections::HashMap;

use mesh_schema::{Catalog, Column, Table};
use rusqlite::{Connection, Error, ErrorCode, Transaction, TransactionBehavior};

use self::sample::Sampler;

/// Reads what the main database of a connection contains. The texts beside it are notes for the log: what
/// was left out and why, and what could not be told for certain.
///
/// `times` are tables and columns that hold times though their declared types do not say so.
///
/// The connection is interrupted where sampling takes too long, so nothing else may be running on it.
pub(crate) fn read(
    connection: &Connection,
    times: &[(String, String)],
) -> Result<(Catalog, Vec<String>), Error> {
    // One snapshot for all the statements below. A caller inside a transaction has one already.
    let _snapshot = connection
        .is_autocommit()
        .then(|| Transaction::new_unchecked(connection, TransactionBehavior::Deferred))
        .transpose()?;
    let mut reader = Reader { connection, sampler: Sampler::start(times.to_vec()), notes: Vec::new() };
    let mut tables = Vec::new();
    for source in reader.sources()? {
        match reader.table(&source) {
            Ok(table) => tables.push(table),
            Err(error) if concerns_all(&error) => return Err(error),
            Err(error) => {
                let (kind, name) = (source.kind.noun(), &source.name);
                reader.notes.push(format!("{kind} '{name}' is left out: {}", reason(&error)));
            }
        }
    }
    settle_targets(&mut tables);
    Ok((Catalog { tables }, reader.notes))
}

/// What is read from, and what it has told so far.
struct Reader<'c> {
    connection: &'c Connection,
    sampler: Sampler,
    notes: Vec<String>,
}

/// An object that may become a table of the catalog.
struct Source {
    name: String,
    kind: Kind,
    without_row_id: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    View,
    Virtual,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Self::Table => "Table",
            Self::View => "View",
            Self::Virtual => "Virtual table",
        }
    }
}

/// A column as the database describes it.
struct RawColumn {
    name: String,
    declared: String,
    not_null: bool,
    /// Its place in the primary key, counted from one; zero outside of it.
    key_place: i64,
    /// Whether `SELECT *` passes over it; generated columns are not meant.
    hidden: bool,
}

const SOURCES: &str = "\
    SELECT listed.name, listed.type, listed.wr \
    FROM pragma_table_list AS listed \
    JOIN main.sqlite_schema AS stored ON stored.name = listed.name AND stored.type IN ('table', 'view') \
    WHERE listed.schema = 'main' AND listed.type <> 'shadow' \
      AND lower(substr(listed.name, 1, 7)) <> 'sqlite_' \
    ORDER BY stored.rowid";

/// The third kind of hidden column, numbers 2 and 3, is generated: as readable as any other.
const COLUMNS: &str = "\
    SELECT name, type, \"notnull\", pk, hidden = 1 FROM pragma_table_xinfo(?1, 'main') ORDER BY cid";

impl Reader<'_> {
    /// Everything that is not SQLite's own, in the order of its creation.
    fn sources(&mut self) -> Result<Vec<Source>, Error> {
        let mut statement = self.connection.prepare(SOURCES)?;
        let mut rows = statement.query([])?;
        let mut sources = Vec::new();
        while let Some(row) = rows.next()? {
            let stored = row.get_ref(0)?.as_bytes()?;
            let Ok(name) = std::str::from_utf8(stored) else {
                let name = String::from_utf8_lossy(stored);
                self.notes.push(format!("Table '{name}' is left out: its name is not UTF-8"));
                continue;
            };
            let kind = match row.get_ref(1)?.as_str()? {
                "view" => Kind::View,
                "virtual" => Kind::Virtual,
                _ => Kind::Table,
            };
            sources.push(Source { name: name.to_owned(), kind, without_row_id: row.get(2)? });
        }
        Ok(sources)
    }

    fn table(&mut self, source: &Source) -> Result<Table, Error> {
        let raw = self.raw_columns(source)?;
        let indexes = keys::indexes(self.connection, &source.name)?;
        let names: Vec<&str> = raw.iter().filter(|c| !c.hidden).map(|c| c.name.as_str()).collect();
        let readable = self.readable(source, &names)?;
        let is_readable = |name: &String| readable.contains(&name.as_str());

        let mut key: Vec<&RawColumn> = raw.iter().filter(|c| c.key_place > 0).collect();
        key.sort_by_key(|column| column.key_place);
        let primary_key: Vec<String> = key.iter().map(|column| column.name.clone()).collect();

        // A key without an index of its own is the row id by another name. `INTEGER PRIMARY KEY DESC` has
        // one: by an old quirk it is an ordinary column, and like most keys of SQLite it can hold NULL.
        let is_row_id = key.len() == 1 && !indexes.for_primary_key;
        let never_null =
            |c: &RawColumn| c.not_null || (c.key_place > 0 && (source.without_row_id || is_row_id));
        let columns: Vec<Column> = raw
            .iter()
            .filter(|column| !column.hidden && is_readable(&column.name))
            .map(|column| Column {
                name: column.name.clone(),
                ty: declared::field_type(&column.declared),
                // What the module of a virtual table declares is not enforced by anybody.
                nullable: source.kind != Kind::Table || !never_null(column),
                ..Column::default()
            })
            .collect();

        let unique = indexes.unique.into_iter().filter(|set| set.iter().all(is_readable));
        let mut foreign_keys = keys::foreign_keys(self.connection, &source.name)?;
        foreign_keys.retain(|foreign_key| foreign_key.columns.iter().all(is_readable));
        let mut table = Table {
            row_id: self.row_id(source, &raw),
            unique: unique.filter(|set| !same_columns(set, &primary_key)).collect(),
            primary_key: if primary_key.iter().all(is_readable) { primary_key } else { Vec::new() },
            name: source.name.clone(),
            columns,
            foreign_keys,
            ..Table::default()
        };
        self.sampler.fill_time_forms(self.connection, &mut table, &mut self.notes)?;
        Ok(table)
    }

    fn raw_columns(&self, source: &Source) -> Result<Vec<RawColumn>, Error> {
        let mut statement = self.connection.prepare_cached(COLUMNS)?;
        let rows = statement.query_map([&source.name], |row| {
            Ok(RawColumn {
                name: row.get(0)?,
                declared: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
                not_null: row.get(2)?,
                key_place: row.get(3)?,
                hidden: row.get(4)?,
            })
        })?;
        rows.collect()
    }

    /// Those of the columns that a statement can name. All of them as a rule; but a generated column may
    /// call a function that only the program which made the database has.
    fn readable<'n>(&mut self, source: &Source, names: &[&'n str]) -> Result<Vec<&'n str>, Error> {
        let Err(error) = self.try_columns(source, names) else {
            return Ok(names.to_vec());
        };
        let mut readable = Vec::new();
        let mut notes = Vec::new();
        for name in names {
            match self.try_columns(source, &[name]) {
                Ok(()) => readable.push(*name),
                Err(error) if concerns_all(&error) => return Err(error),
                Err(error) => {
                    notes.push(format!("Column '{}.{name}' is left out: {}", source.name, reason(&error)));
                }
            }
        }
        if readable.is_empty() {
            return Err(error);
        }
        self.notes.append(&mut notes);
        Ok(readable)
    }

    fn try_columns(&self, source: &Source, names: &[&str]) -> Result<(), Error> {
        let list: Vec<String> = names.iter().map(|name| format!("t.{}", quoted(name))).collect();
        let sql = format!("SELECT {} FROM main.{} AS t LIMIT 1", list.join(", "), quoted(&source.name));
        let mut statement = self.connection.prepare(&sql)?;
        if source.kind == Kind::Virtual {
            // Only its module knows whether it works, and says so with the first row. Slow is no fault.
            let first = self.sampler.within_time(self.connection, |_| statement.query([])?.next().map(drop));
            return first.or_else(|error| match error.sqlite_error_code() {
                Some(ErrorCode::OperationInterrupted) => Ok(()),
                _ => Err(error),
            });
        }
        Ok(())
    }

    /// The name that reads the row id: a column of that name would hide it.
    fn row_id(&self, source: &Source, columns: &[RawColumn]) -> Option<String> {
        if source.kind == Kind::View || source.without_row_id {
            return None;
        }
        let is_free = |name: &&str| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        let name = ["rowid", "_rowid_", "oid"].into_iter().find(is_free)?;
        if source.kind == Kind::Virtual {
            self.connection
                .prepare(&format!("SELECT t.{name} FROM main.{} AS t", quoted(&source.name)))
                .ok()?;
        }
        Some(name.to_owned())
    }
}

/// A name as it can stand in SQL text, whatever it is made of.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether an error is about the database as a whole rather than about one object in it.
fn concerns_all(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
                | ErrorCode::OperationInterrupted
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::NotADatabase
        )
    )
}

/// The database's own words for an error, without the SQL text that ran into it.
fn reason(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg)) => msg.clone(),
        other => other.to_string(),
    }
}

fn same_columns(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

/// Writes the targets of foreign keys as they are stored: a declaration may spell them in other letter case.
fn settle_targets(tables: &mut [Table]) {
    let stored: HashMap<String, (String, Vec<String>)> = tables
        .iter()
        .map(|table| {
            let columns = table.columns.iter().map(|column| column.name.clone()).collect();
            (table.name.to_ascii_lowercase(), (table.name.clone(), columns))
        })
        .collect();
    for foreign_key in tables.iter_mut().flat_map(|table| &mut table.foreign_keys) {
        let Some((name, columns)) = stored.get(&foreign_key.target.to_ascii_lowercase()) else { continue };
        foreign_key.target.clone_from(name);
        for target in &mut foreign_key.target_columns {
            if let Some(column) = columns.iter().find(|column| column.eq_ignore_ascii_case(target)) {
                target.clone_from(column);
            }
        }
    }
}

#[cfg(test)]
mod tests;
