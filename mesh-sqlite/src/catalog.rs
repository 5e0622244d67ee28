//! The catalog: tables, views and virtual tables, read into a [`Catalog`].
//!
//! An object that cannot be read is left out with a note, and does not hide the others.

mod constraints;
mod declared;
pub(crate) mod indexes;
mod keys;
mod sample;
mod text_indexes;

use std::collections::HashMap;

use mesh_schema::{Catalog, Column, FieldType, ForeignKey, Table, TextSearch};
use rusqlite::{Connection, Error, ErrorCode};
use sea_query::{Query, SqliteQueryBuilder};

use self::sample::Sampler;
use self::text_indexes::Fts5Table;

/// Reads the catalog of a connection's main database. Also returns notes for the log, which state what was left out and
/// why, and what is uncertain.
///
/// `times` lists tables and columns that hold times although their declared types do not show it.
///
/// The connection's statements are interrupted if sampling takes too long.
pub(crate) fn read(
    connection: &mut Connection,
    times: &[(String, String)],
) -> Result<(Catalog, Vec<String>), Error> {
    let sampler = Sampler::new(connection, times.to_vec())?;
    // All statements below read one snapshot. A caller inside a transaction has one already.
    let _snapshot = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let mut reader = Reader { connection, sampler, notes: Vec::new() };
    let mut tables = Vec::new();
    let mut text_indexes = Vec::new();
    for object in reader.objects()? {
        let read = match Fts5Table::parse(&object.name, &object.declaration) {
            Some(index) => reader.text_index(&object, index).map(|index| text_indexes.push(index)),
            None => reader.table(&object).map(|table| tables.push(table)),
        };
        match read {
            Ok(()) => {}
            Err(error) if concerns_database(&error) => return Err(error),
            Err(error) => {
                let (kind, name) = (object.kind.noun(), &object.name);
                reader.notes.push(format!("{kind} '{name}' is left out: {}", reason(&error)));
            }
        }
    }
    for index in text_indexes {
        reader.notes.extend(index.move_to(&mut tables));
    }
    normalize_targets(&mut tables);
    adopt_kinds_of_targets(&mut tables);
    Ok((Catalog { tables, text_search: TextSearch::Fts5 }, reader.notes))
}

/// Reads a catalog and collects notes.
struct Reader<'c> {
    connection: &'c Connection,
    sampler: Sampler,
    notes: Vec<String>,
}

/// A table, view or virtual table of the database.
struct SchemaObject {
    name: String,
    kind: Kind,
    without_row_id: bool,
    /// The statement that created a virtual table; empty for others.
    declaration: String,
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
    /// The position in the primary key, counted from 1; 0 for other columns.
    key_position: i64,
    /// Whether `SELECT *` omits the column. Generated columns are not hidden.
    hidden: bool,
    /// Whether the column has a default or is generated.
    provided: bool,
    generated: bool,
}

const OBJECTS: &str = "\
    SELECT listed.name, listed.type, listed.wr, iif(listed.type = 'virtual', stored.sql, '') \
    FROM pragma_table_list AS listed \
    JOIN main.sqlite_schema AS stored ON stored.name = listed.name AND stored.type IN ('table', 'view') \
    WHERE listed.schema = 'main' AND listed.type <> 'shadow' \
      AND lower(substr(listed.name, 1, 7)) <> 'sqlite_' \
    ORDER BY stored.rowid";

/// `hidden` is 2 or 3 for generated columns, which are readable.
const COLUMNS: &str = "\
    SELECT name, type, \"notnull\", pk, hidden = 1, dflt_value IS NOT NULL OR hidden > 1, hidden > 1 \
    FROM pragma_table_xinfo(?1, 'main') ORDER BY cid";

impl Reader<'_> {
    /// Lists the objects in the order of their creation, without SQLite's internal ones.
    fn objects(&mut self) -> Result<Vec<SchemaObject>, Error> {
        let mut statement = self.connection.prepare(OBJECTS)?;
        let mut rows = statement.query([])?;
        let mut objects = Vec::new();
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
            let declaration = String::from_utf8_lossy(row.get_ref(3)?.as_bytes()?).into_owned();
            let (name, without_row_id) = (name.to_owned(), row.get(2)?);
            objects.push(SchemaObject { name, kind, without_row_id, declaration });
        }
        Ok(objects)
    }

    fn text_index(&self, object: &SchemaObject, mut index: Fts5Table) -> Result<Fts5Table, Error> {
        let columns = self.raw_columns(object)?.into_iter().filter(|column| !column.hidden);
        index.columns = columns.map(|column| column.name).collect();
        Ok(index)
    }

    fn table(&mut self, object: &SchemaObject) -> Result<Table, Error> {
        let raw = self.raw_columns(object)?;
        let indexes = keys::indexes(self.connection, &object.name)?;
        let names: Vec<&str> = raw.iter().filter(|c| !c.hidden).map(|c| c.name.as_str()).collect();
        let readable = self.readable(object, &names)?;
        let is_readable = |name: &String| readable.contains(&name.as_str());

        let mut key: Vec<&RawColumn> = raw.iter().filter(|c| c.key_position > 0).collect();
        key.sort_by_key(|column| column.key_position);
        let primary_key: Vec<String> = key.iter().map(|column| column.name.clone()).collect();

        // A key without an index is an alias of the row id. `INTEGER PRIMARY KEY DESC` has an index: for historical
        // reasons it is an ordinary column, and like most keys of SQLite it can hold NULL.
        let is_row_id = key.len() == 1 && !indexes.for_primary_key;
        let never_null =
            |c: &RawColumn| c.not_null || (c.key_position > 0 && (object.without_row_id || is_row_id));
        let is_required = |c: &RawColumn| never_null(c) && !c.provided && !(c.key_position > 0 && is_row_id);
        let is_fixed = object.kind == Kind::View && !self.has_trigger(&object.name)?;
        let columns: Vec<Column> = raw
            .iter()
            .filter(|column| !column.hidden && is_readable(&column.name))
            .map(|column| Column {
                name: column.name.clone(),
                ty: declared::field_type(&column.declared),
                // SQLite does not enforce what the module of a virtual table declares.
                nullable: object.kind != Kind::Table || !never_null(column),
                required: object.kind == Kind::Table && is_required(column),
                not_finite: declared::field_type(&column.declared) == Some(FieldType::Number),
                generated: column.generated || is_fixed,
                ..Column::default()
            })
            .collect();

        let integer_key = primary_key.first().filter(|_| is_row_id && object.kind == Kind::Table).cloned();
        let unique = indexes.unique.into_iter().filter(|set| set.iter().all(is_readable));
        let mut foreign_keys = keys::foreign_keys(self.connection, &object.name)?;
        foreign_keys.retain(|foreign_key| foreign_key.columns.iter().all(is_readable));
        let constraints = constraints::read(self.connection, &object.name, &readable)?;
        let resolutions = constraints::resolutions(self.connection, &object.name)?;
        if !resolutions.is_empty() {
            let clauses = resolutions.join(", ");
            self.notes.push(format!(
                "Table '{}' declares ON CONFLICT {clauses}: writes through the server that violate its rules fail instead, \
                 so that no record is replaced that the writer may not see",
                object.name
            ));
        }
        let mut table = Table {
            resolves_conflicts: !resolutions.is_empty(),
            constraints,
            row_id: self.row_id(object, &raw),
            integer_key: integer_key.filter(is_readable),
            takes_no_index: object.kind == Kind::View,
            unique: unique.filter(|set| !same_columns(set, &primary_key)).collect(),
            primary_key: if primary_key.iter().all(is_readable) { primary_key } else { Vec::new() },
            name: object.name.clone(),
            columns,
            foreign_keys,
            ..Table::default()
        };
        self.sampler.fill_forms(self.connection, &mut table, &mut self.notes)?;
        Ok(table)
    }

    /// Returns whether a view has a trigger. A view without one cannot be written.
    fn has_trigger(&self, view: &str) -> Result<bool, Error> {
        let sql = "SELECT 1 FROM main.sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = lower(?1)";
        self.connection.prepare_cached(sql)?.exists([view])
    }

    fn raw_columns(&self, object: &SchemaObject) -> Result<Vec<RawColumn>, Error> {
        let mut statement = self.connection.prepare_cached(COLUMNS)?;
        let rows = statement.query_map([&object.name], |row| {
            Ok(RawColumn {
                name: row.get(0)?,
                declared: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
                not_null: row.get(2)?,
                key_position: row.get(3)?,
                hidden: row.get(4)?,
                provided: row.get(5)?,
                generated: row.get(6)?,
            })
        })?;
        rows.collect()
    }

    /// Returns the columns that a statement can read. A generated column may call a function that only the program which
    /// created the database defines.
    fn readable<'n>(&mut self, object: &SchemaObject, names: &[&'n str]) -> Result<Vec<&'n str>, Error> {
        let Err(error) = self.try_columns(object, names) else {
            return Ok(names.to_vec());
        };
        let mut readable = Vec::new();
        let mut notes = Vec::new();
        for name in names {
            match self.try_columns(object, &[name]) {
                Ok(()) => readable.push(*name),
                Err(error) if concerns_database(&error) => return Err(error),
                Err(error) => {
                    notes.push(format!("Column '{}.{name}' is left out: {}", object.name, reason(&error)));
                }
            }
        }
        if readable.is_empty() {
            return Err(error);
        }
        self.notes.append(&mut notes);
        Ok(readable)
    }

    fn try_columns(&self, object: &SchemaObject, names: &[&str]) -> Result<(), Error> {
        let columns = names.iter().map(|name| ("t", (*name).to_owned()));
        let sql =
            Query::select().columns(columns).from_as(("main", object.name.clone()), "t").limit(1).take();
        let mut statement = self.connection.prepare(&sql.to_string(SqliteQueryBuilder))?;
        if object.kind == Kind::Virtual {
            // Errors of its module appear with the first row. A timeout does not count as an error.
            let first = self.sampler.within_time(|| statement.query([])?.next().map(drop));
            return first.or_else(|error| match error.sqlite_error_code() {
                Some(ErrorCode::OperationInterrupted) => Ok(()),
                _ => Err(error),
            });
        }
        Ok(())
    }

    /// Returns a name of the row id that no column hides.
    fn row_id(&self, object: &SchemaObject, columns: &[RawColumn]) -> Option<String> {
        if object.kind == Kind::View || object.without_row_id {
            return None;
        }
        let is_free = |name: &&str| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        let name = ["rowid", "_rowid_", "oid"].into_iter().find(is_free)?;
        if object.kind == Kind::Virtual {
            let sql = Query::select().column(("t", name)).from_as(("main", object.name.clone()), "t").take();
            self.connection.prepare(&sql.to_string(SqliteQueryBuilder)).ok()?;
        }
        Some(name.to_owned())
    }
}

/// Returns whether an error concerns the database and not only one object in it.
fn concerns_database(error: &Error) -> bool {
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

/// Returns SQLite's message without the SQL text of the statement.
fn reason(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg)) => msg.clone(),
        other => other.to_string(),
    }
}

fn same_columns(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

/// Gives foreign keys without values the kinds of values of their targets, so that new values refer to records.
fn adopt_kinds_of_targets(tables: &mut [Table]) {
    let known = tables.to_vec();
    for (table, known_keys) in tables.iter_mut().zip(known.iter().map(|table| &table.foreign_keys)) {
        for ForeignKey { columns, target, target_columns, .. } in known_keys {
            let Some(target) = known.iter().find(|known| known.name == *target) else { continue };
            let targets = if target_columns.is_empty() { &target.primary_key } else { target_columns };
            for (name, of) in columns.iter().zip(targets) {
                let mut empty = table.columns.iter_mut().filter(|column| column.sampled.is_empty());
                if let (Some(column), Some(of)) =
                    (empty.find(|column| column.name == *name), target.column(of))
                {
                    column.sampled = of.sampled;
                }
            }
        }
    }
}

/// Replaces the names of foreign key targets with the stored names, which may differ in letter case.
fn normalize_targets(tables: &mut [Table]) {
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
