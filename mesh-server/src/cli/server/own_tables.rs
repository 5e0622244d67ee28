//! The tables of the database that the settings name for the server itself, whose contents are not served by inference.

use std::borrow::Cow;

use mesh_schema::{Catalog, Schema, Table, TableName};

use crate::config::Config;

/// A table with the setting that names it and what it holds.
struct OwnTable {
    name: TableName,
    setting: &'static str,
    contents: &'static str,
}

/// Returns the tables that the settings name. A name that cannot be parsed is reported when the table is opened.
fn own_tables(config: &Config) -> Vec<OwnTable> {
    let named = [
        ("api_keys.table", &config.api_keys.table, "API keys"),
        ("audit.table", &config.audit.table, "the audit log"),
    ];
    let named = named.into_iter().filter(|(_, name, _)| !name.is_empty());
    let own = |(setting, name, contents): (_, &String, _)| {
        Some(OwnTable { name: TableName::parse(name).ok()?, setting, contents })
    };
    named.filter_map(own).collect()
}

/// Returns whether two names can refer to one table. A name without a schema can refer to a table of any schema.
fn may_be(own: &TableName, other: &TableName) -> bool {
    let is_other_schema = own.schema.is_some() && other.schema.is_some() && own.schema != other.schema;
    own.name.eq_ignore_ascii_case(&other.name) && !is_other_schema
}

/// Returns the catalog without the server's own tables, with a note for each.
pub(crate) fn without_own_tables<'c>(
    config: &Config,
    catalog: &'c Catalog,
    notes: &mut Vec<String>,
) -> Cow<'c, Catalog> {
    let own = own_tables(config);
    let of = |table: &Table| {
        let name = table.full_name();
        own.iter().find(|own| may_be(&own.name, &name))
    };
    let mut found = Vec::new();
    for table in &catalog.tables {
        if let Some(OwnTable { setting, contents, .. }) = of(table) {
            found.push(format!(
                "{}: not served, because '{setting}' names it: it holds {contents}",
                table.name
            ));
        }
    }
    if found.is_empty() {
        return Cow::Borrowed(catalog);
    }
    notes.append(&mut found);
    let mut catalog = catalog.clone();
    catalog.tables.retain(|table| of(table).is_none());
    Cow::Owned(catalog)
}

/// Returns a warning for each entity whose table is one of the server's own.
pub(crate) fn served_own_tables(config: &Config, schema: &Schema) -> Vec<String> {
    let own = own_tables(config);
    let entities = schema.entities();
    let warnings = entities.filter_map(|(_, entity)| {
        let OwnTable { setting, contents, .. } = own.iter().find(|own| may_be(&own.name, &entity.table))?;
        Some(format!(
            "the schema document serves the table '{}' as '{}', but '{setting}' names it: it holds {contents}; remove the \
             entity unless clients may read them",
            entity.table.name, entity.key
        ))
    });
    warnings.collect()
}
