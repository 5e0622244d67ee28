//! Lookup of tables and columns in a catalog.

use std::collections::HashMap;

use crate::{Catalog, Column, FieldType, NativeType, Table, TableName};

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
        let rank = |table: &&Table| {
            let exact = u8::from(table.name == name.name);
            match (table.schema.as_deref(), name.schema.as_deref()) {
                (stored, written) if stored == written && exact == 1 => 5,
                (None, None) => 3,
                (Some(stored), Some(written)) if stored.eq_ignore_ascii_case(written) => 3 + exact,
                (None, Some(written)) if is_default(written) => 1 + exact,
                _ => 0,
            }
        };
        let named = self.by_folded_name.get(&name.name.to_ascii_lowercase())?.iter().copied();
        // `max_by_key` returns the last maximum; the reversed order makes the first of equal tables win.
        named.rev().max_by_key(rank).filter(|table| rank(table) > 0)
    }

    /// Returns whether a table or a full-text index of a table has that name.
    pub(crate) fn uses(&self, name: &TableName) -> bool {
        let mut indexes = self.all.iter().flat_map(|table| &table.text_indexes);
        self.find(name).is_some() || indexes.any(|index| index.name.eq_ignore_ascii_case(&name.name))
    }

    /// Returns the names of all tables, for hints.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'c str> {
        self.all.iter().map(|table| table.name.as_str())
    }
}

/// Returns whether a name denotes the default namespace.
pub(crate) fn is_default(schema: &str) -> bool {
    DEFAULT_NAMESPACES.iter().any(|name| name.eq_ignore_ascii_case(schema))
}

/// Finds a column or the hidden row id of a table. Returns the name in the spelling of the catalog, and the column unless
/// it is the row id.
pub(crate) fn find_column<'c>(table: &'c Table, name: &str) -> Option<(&'c str, Option<&'c Column>)> {
    if let Some(column) = table.column(name) {
        return Some((&column.name, Some(column)));
    }
    let row_id = table.row_id.as_deref()?;
    row_id.eq_ignore_ascii_case(name).then_some((row_id, None))
}

/// Returns whether words can be found in a field of type `ty` with that column, which is `None` without a catalog.
pub(crate) fn is_searchable(ty: Option<FieldType>, column: Option<&Column>) -> bool {
    let native = column.and_then(|column| column.native.as_ref());
    matches!(ty, None | Some(FieldType::String)) && native.is_none_or(NativeType::is_text)
}

/// Returns whether the columns of two tables both hold integers, or both hold text.
pub(crate) fn are_same_type(tables: [&Table; 2], columns: [&str; 2]) -> bool {
    let [table, other_table] = tables;
    let [column, other_column] = columns;
    // The row id is an integer.
    let stored =
        |table, column| find_column(table, column)?.1.map_or(Some(FieldType::Integer), |column| column.ty);
    match (stored(table, column), stored(other_table, other_column)) {
        (Some(ty), Some(other)) => {
            ty.is_integer() && other.is_integer() || [ty, other] == [FieldType::String; 2]
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
