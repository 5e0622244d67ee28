//! Notes about searches that work, but slowly or not as expected.

use crate::load::lookup::Tables;
use crate::{Catalog, Entity, Schema, Search, Table, TextSearch, index_statements};

/// Returns notes about the searches of a schema that was loaded with this catalog: those that no index serves, with the
/// statements that create one, and those that distinguish upper and lower case. `SPEC §20.1`
pub fn search_notes(schema: &Schema, catalog: &Catalog) -> Vec<String> {
    let tables = Tables::new(catalog);
    let note = |entity: &Entity| {
        let (table, search) = (tables.find(&entity.table)?, entity.search.as_ref()?);
        let columns = search.columns(entity);
        let text = match catalog.text_search {
            TextSearch::Configurations(_) => unindexed(table, search, &columns),
            TextSearch::FullText => case_sensitive(table, &columns),
            TextSearch::Fts5 | TextSearch::Unknown => None,
        };
        Some(format!("entities.{}.search: {}", entity.key, text?))
    };
    schema.entities().filter_map(|(_, entity)| note(entity)).collect()
}

fn unindexed(table: &Table, search: &Search, columns: &[&str]) -> Option<String> {
    let create = index_statements::gin(table, &search.language, columns);
    search.index.is_none().then(|| {
        format!("'{}' has no GIN index for it, so each search reads all rows{create}", table.full_name())
    })
}

fn case_sensitive(table: &Table, columns: &[&str]) -> Option<String> {
    let is_binary = |name: &&str| {
        let native = table.column(name).and_then(|column| column.native.as_ref());
        native.is_some_and(|native| native.name.ends_with("_bin") || native.name.ends_with("_cs"))
    };
    let name = columns.iter().copied().find(is_binary)?;
    Some(format!("case counts, because of the collation of column '{name}'"))
}
