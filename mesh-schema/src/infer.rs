//! Inference of a schema from a database: every table becomes an entity, every foreign key a relation.

mod key;
mod naming;
mod relation;
mod secret;

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;

use crate::load::lookup::is_searchable;
use crate::load::{default_table, is_reserved_member};
use crate::{
    Catalog, Column, Document, EntityDocument, FieldType, IdField, Search, SearchDocument, Table, TableName,
    TextSearch,
};

/// The result of inference: a document that loads with the same catalog, and notes about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inference {
    /// The inferred document.
    pub document: Document,
    /// Parts that were omitted, renamed or not understood.
    pub notes: Vec<Note>,
}

/// A decision of inference that the user may want to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The table or column.
    pub path: String,
    /// The decision, and how to change it.
    pub message: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Returns whether a table belongs to the server or to the database system. Such tables are never served.
fn is_internal_table(schema: Option<&str>, name: &str) -> bool {
    let begins =
        |prefix: &str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    begins("_mesh_") || begins("sqlite_") || schema == Some("mesh")
}

/// Creates a schema document from a catalog. The document always loads with that catalog.
pub fn infer(catalog: &Catalog) -> Inference {
    let mut notes = Vec::new();
    let mut served = served_tables(catalog, &mut notes);
    key::name_entities(&mut served, &mut notes);
    for table in &mut served {
        key::name_fields(table, &mut notes);
        note_hidden(table, &mut notes);
        if let Some(column) = table.unfit_key() {
            let path = format_args!("{}.{}", table.name, column.name).to_string();
            let message =
                "its records have no id: values of this type cannot be compared with those of a request";
            notes.push(note(&path, message));
        }
    }
    let joins = relation::joins(catalog, &served, &mut notes);
    let mut document = Document::default();
    for table in &served {
        document.entities.push(table.key.clone(), entity(table, &catalog.text_search));
    }
    for (key, join) in joins {
        document.joins.push(key, join);
    }
    Inference { document, notes }
}

/// A table that becomes an entity.
struct ServedTable<'c> {
    table: &'c Table,
    name: TableName,
    key: String,
    columns: Vec<ServedColumn<'c>>,
    /// Columns omitted because they look like secrets.
    hidden: Vec<&'c Column>,
    /// Names of fields and relations assigned so far.
    taken: RefCell<HashSet<String>>,
}

/// A column that becomes a field.
struct ServedColumn<'c> {
    column: &'c Column,
    field: String,
}

impl ServedTable<'_> {
    /// Returns the field of the column with exactly that name.
    fn field_of(&self, column: &str) -> Option<&str> {
        self.columns.iter().find(|served| served.column.name == column).map(|served| served.field.as_str())
    }

    /// Returns the column of a primary key of one column, if that column is served.
    fn id_column(&self) -> Option<&str> {
        let [only] = self.table.primary_key.as_slice() else { return None };
        let column = self.table.column(only)?;
        self.field_of(&column.name).filter(|_| column.can_identify()).map(|_| column.name.as_str())
    }

    /// Returns a column of the primary key that cannot be part of an id.
    fn unfit_key(&self) -> Option<&Column> {
        let mut key = self.table.primary_key.iter().filter_map(|name| self.table.column(name));
        key.find(|column| !column.can_identify())
    }

    /// Returns the fields of the primary key; `None` if one of its columns is not served, or cannot be part of an id.
    fn id_fields(&self) -> Option<Vec<String>> {
        let field = |name: &String| self.field_of(&self.table.column(name)?.name).map(str::to_owned);
        if self.unfit_key().is_some() {
            return None;
        }
        let mut fields: Vec<String> = self.table.primary_key.iter().map(field).collect::<Option<_>>()?;
        let mut seen = HashSet::new();
        fields.retain(|field| seen.insert(field.clone()));
        Some(fields)
    }
}

/// Returns the tables that can be served, sorted by name, so that the result does not depend on catalog order.
fn served_tables<'c>(catalog: &'c Catalog, notes: &mut Vec<Note>) -> Vec<ServedTable<'c>> {
    let mut seen = HashSet::new();
    let mut served = Vec::new();
    for table in &catalog.tables {
        let name = table.full_name();
        if is_internal_table(table.schema.as_deref(), &table.name) || !seen.insert(name.clone()) {
            continue;
        }
        if table.name.is_empty() || table.schema.as_deref() == Some("") {
            notes.push(note(&name, "omitted: a table without a name cannot be referred to"));
            continue;
        }
        if table.columns.iter().any(|column| column.name.is_empty()) {
            notes.push(note(
                &format_args!("{name}.\"\""),
                "omitted: a column without a name cannot be referred to",
            ));
        }
        let mut names = HashSet::new();
        let usable =
            table.columns.iter().filter(|column| !column.name.is_empty() && names.insert(&column.name));
        let (hidden, columns): (Vec<_>, Vec<_>) = usable.partition(|column| secret::is_secret(column));
        if columns.is_empty() {
            notes.push(note(&name, "omitted: none of its columns can be served"));
            continue;
        }
        let hidden_key = |name: &String| {
            table.column(name).is_some_and(|column| hidden.iter().any(|hidden| hidden.name == column.name))
        };
        if table.row_id.is_none() && table.primary_key.iter().any(hidden_key) {
            notes.push(note(&name, "omitted: its key looks like a secret, and cursors would contain it"));
            continue;
        }
        let columns =
            columns.into_iter().map(|column| ServedColumn { column, field: String::new() }).collect();
        served.push(ServedTable {
            table,
            name,
            key: String::new(),
            columns,
            hidden,
            taken: RefCell::default(),
        });
    }
    served.sort_by(|a, b| a.name.cmp(&b.name));
    served
}

fn note(path: &impl fmt::Display, message: impl Into<String>) -> Note {
    Note { path: path.to_string(), message: message.into() }
}

/// Returns the items that occur more than once.
fn repeated<T: Copy + Eq + Hash>(items: impl Iterator<Item = T>) -> HashSet<T> {
    let mut seen = HashSet::new();
    items.filter(|item| !seen.insert(*item)).collect()
}

fn note_hidden(served: &ServedTable<'_>, notes: &mut Vec<Note>) {
    for column in &served.hidden {
        let camel = naming::camel(&naming::words(&column.name));
        let free =
            !camel.is_empty() && !served.taken.borrow().contains(&camel) && !is_reserved_member(&camel);
        let field = if free { camel } else { column.name.clone() };
        let mapping = if field == column.name {
            String::new()
        } else {
            format!(" and {field:?}: {:?} to its columns", column.name)
        };
        notes.push(note(
            &format_args!("{}.{}", served.name, column.name),
            format!(
                "omitted: it looks like a secret; to serve it, write the schema to a file and add \
                 {field:?} to the fields of entity '{}'{mapping}",
                served.key
            ),
        ));
    }
}

/// Returns the search by the first full-text index whose columns are all served as texts.
fn search(served: &ServedTable<'_>, text_search: &TextSearch) -> Option<SearchDocument> {
    let field = |name: &String| {
        let served = served.columns.iter().find(|served| served.column.name == *name)?;
        is_searchable(served.column.ty, Some(served.column)).then(|| served.field.clone())
    };
    let mut indexes = served.table.text_indexes.iter();
    let (index, fields) = indexes.find_map(|index| {
        let fields: Vec<String> = index.columns.iter().map(field).collect::<Option<_>>()?;
        (!fields.is_empty()).then_some((index, fields))
    })?;
    Some(SearchDocument {
        fields,
        language: index.language.clone().filter(|language| language != Search::DEFAULT_LANGUAGE),
        table: (*text_search == TextSearch::Fts5).then(|| index.table_name().to_string()),
    })
}

fn entity(served: &ServedTable<'_>, text_search: &TextSearch) -> EntityDocument {
    let mut document = EntityDocument::default();
    let table = served.name.to_string();
    document.table = (table != default_table(&served.key)).then_some(table);
    document.id_field = match IdField::from_iter(served.id_fields().unwrap_or_default()) {
        IdField::Field(field) if field == "id" => IdField::Unset,
        id_field => id_field,
    };
    document.search = search(served, text_search);
    for ServedColumn { column, field } in &served.columns {
        document.fields.push(field.clone());
        if *field != column.name {
            document.columns.push(field, column.name.clone());
        }
        // `bigint` is never inferred; the author of a document can choose it. `SPEC §6`
        if let Some(ty) = column.ty {
            document.types.push(
                field,
                if matches!(ty, FieldType::Bigint | FieldType::Unsigned) { FieldType::Integer } else { ty },
            );
        }
    }
    document
}

#[cfg(test)]
mod tests;
