//! Lookup of tables and columns in a catalog, and the columns that make an order total.

use std::collections::{HashMap, HashSet};

use crate::{Catalog, Column, Entity, Field, FieldType, KeyColumn, Table, TableName};

/// Names of the default namespace, for which catalogs have `None`.
const DEFAULT_NAMESPACES: [&str; 2] = ["main", "public"];

/// The tables of a catalog, indexed by name.
pub(crate) struct Tables<'c> {
    all: &'c [Table],
    by_folded_name: HashMap<String, Vec<&'c Table>>,
}

impl<'c> Tables<'c> {
    pub(crate) fn new(catalog: &'c Catalog) -> Self {
        let mut by_folded_name: HashMap<String, Vec<&'c Table>> = HashMap::new();
        for table in &catalog.tables {
            by_folded_name.entry(table.name.to_ascii_lowercase()).or_default().push(table);
        }
        Self { all: &catalog.tables, by_folded_name }
    }

    /// Returns the table with that name: an exact match, else one that differs in ASCII letter case.
    pub(crate) fn find(&self, name: &TableName) -> Option<&'c Table> {
        let named = self.by_folded_name.get(&name.name.to_ascii_lowercase())?;
        let schema = name.schema.as_deref();
        let exact = |table: &&&Table| table.name == name.name;
        let within = |schema: Option<&str>| {
            let inside = || named.iter().filter(move |table| same_namespace(table.schema.as_deref(), schema));
            inside().find(exact).or_else(|| inside().next()).copied()
        };
        named
            .iter()
            .filter(exact)
            .find(|table| table.schema.as_deref() == schema)
            .copied()
            .or_else(|| within(schema))
            .or_else(|| schema.filter(|schema| is_default(schema)).and_then(|_| within(None)))
    }

    /// Returns the names of all tables, for hints.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'c str> {
        self.all.iter().map(|table| table.name.as_str())
    }
}

fn same_namespace(left: Option<&str>, right: Option<&str>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left.eq_ignore_ascii_case(right),
        (None, None) => true,
        _ => false,
    }
}

/// Whether a name denotes the default namespace.
pub(crate) fn is_default(schema: &str) -> bool {
    DEFAULT_NAMESPACES.iter().any(|name| name.eq_ignore_ascii_case(schema))
}

/// A column or the hidden row id of a table.
pub(crate) struct Found<'c> {
    /// The spelling of the catalog.
    pub(crate) name: &'c str,
    /// `None` for the row id.
    pub(crate) column: Option<&'c Column>,
}

impl Found<'_> {
    pub(crate) fn ty(&self) -> Option<FieldType> {
        self.column.map_or(Some(FieldType::Integer), |column| column.ty)
    }

    pub(crate) fn nullable(&self) -> bool {
        self.column.is_some_and(|column| column.nullable)
    }
}

/// Returns the column with that name, or the row id.
pub(crate) fn find_column<'c>(table: &'c Table, name: &str) -> Option<Found<'c>> {
    if let Some(column) = table.column(name) {
        return Some(Found { name: &column.name, column: Some(column) });
    }
    let row_id = table.row_id.as_deref()?;
    row_id.eq_ignore_ascii_case(name).then_some(Found { name: row_id, column: None })
}

/// Returns the storage columns that make an order of the entity's rows total. `SPEC §3.9`
pub(crate) fn tie_break(entity: &Entity, table: Option<&Table>) -> Vec<KeyColumn> {
    match (entity.id, table) {
        (Some(id), Some(table)) => additional_columns(entity.field(id), table),
        (None, Some(table)) => key_columns(entity, table),
        (Some(_), None) => Vec::new(),
        (None, None) => exposed_columns(entity),
    }
}

/// Returns the columns needed in addition to the id field: none if its column is unique and never NULL.
fn additional_columns(id: &Field, table: &Table) -> Vec<KeyColumn> {
    if !id.nullable && is_unique(table, &id.column) {
        return Vec::new();
    }
    if let Some(row_id) = &table.row_id {
        return vec![never_null(row_id)];
    }
    let key = primary_key(table);
    if key.iter().any(|column| column.nullable) {
        return Vec::new();
    }
    key.into_iter().filter(|column| column.column != id.column).collect()
}

/// Whether a column is unique. If the catalog has no keys, as for a view, the document's `idField` is trusted.
fn is_unique(table: &Table, column: &str) -> bool {
    let alone = |set: &[String]| matches!(set, [only] if only.eq_ignore_ascii_case(column));
    let unknown = table.primary_key.is_empty() && table.unique.is_empty() && table.row_id.is_none();
    unknown
        || alone(&table.primary_key)
        || table.unique.iter().any(|set| alone(set))
        || table.row_id.as_deref() == Some(column)
}

/// Returns the primary key or the row id. Cursors contain these values, so the row id is preferred to a key that the
/// entity does not expose.
fn key_columns(entity: &Entity, table: &Table) -> Vec<KeyColumn> {
    let key = primary_key(table);
    let awkward = |column: &KeyColumn| column.nullable || entity.field_of_column(&column.column).is_none();
    match &table.row_id {
        Some(row_id) if key.is_empty() || key.iter().any(awkward) => vec![never_null(row_id)],
        None if key.is_empty() => exposed_columns(entity),
        _ => key,
    }
}

/// Returns the columns that the entity exposes, and no others, because cursors contain their values.
fn exposed_columns(entity: &Entity) -> Vec<KeyColumn> {
    // Databases cannot order by JSON, so JSON columns are used only if there are no others.
    let all_json = entity.fields.iter().all(|field| field.ty == Some(FieldType::Json));
    let ordered = entity.fields.iter().filter(|field| all_json || field.ty != Some(FieldType::Json));
    let mut seen = HashSet::new();
    ordered
        .filter(|field| seen.insert(field.column.as_str()))
        .map(|field| KeyColumn { column: field.column.clone(), nullable: field.nullable })
        .collect()
}

fn primary_key(table: &Table) -> Vec<KeyColumn> {
    let columns = table.primary_key.iter().filter_map(|name| table.column(name));
    columns.map(|column| KeyColumn { column: column.name.clone(), nullable: column.nullable }).collect()
}

fn never_null(column: &str) -> KeyColumn {
    KeyColumn { column: column.to_owned(), nullable: false }
}

#[cfg(test)]
mod tests;
