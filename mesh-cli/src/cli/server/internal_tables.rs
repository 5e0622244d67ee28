//! The tables of the database that the settings name for the server itself, whose contents are not served by inference.

use mesh_schema::{Catalog, Schema, TableName};

use crate::config::Config;

/// Returns the tables that the settings name, with the setting and what they hold. A name that cannot be parsed is reported when
/// the table is opened.
fn internal_tables(config: &Config) -> Vec<(TableName, String)> {
    let named = [
        ("api_keys.table", config.api_keys.table.as_str(), "API keys"),
        ("audit.store", config.audit.table().unwrap_or_default(), "the audit log"),
    ];
    let parsed = |(setting, name, contents): (&str, &str, &str)| {
        let why = format!("'{setting}' names this table, which holds {contents}");
        Some((TableName::parse(name).ok()?, why))
    };
    named.into_iter().filter(|(_, name, _)| !name.is_empty()).filter_map(parsed).collect()
}

/// Returns whether two names can refer to one table. A name without a schema can refer to a table of any schema.
fn can_match(internal: &TableName, other: &TableName) -> bool {
    let is_other_schema =
        internal.schema.is_some() && other.schema.is_some() && internal.schema != other.schema;
    internal.name.eq_ignore_ascii_case(&other.name) && !is_other_schema
}

/// Removes the server's own tables from a catalog, with a note for each.
pub(crate) fn remove_internal_tables(config: &Config, catalog: &mut Catalog, notes: &mut Vec<String>) {
    let internal = internal_tables(config);
    catalog.tables.retain(|table| {
        let name = table.full_name();
        let Some((_, why)) = internal.iter().find(|(table, _)| can_match(table, &name)) else { return true };
        notes.push(format!("{}: not served, because {why}", table.name));
        false
    });
}

/// Returns a warning for each entity whose table is one of the server's own.
pub(crate) fn served_internal_tables(config: &Config, schema: &Schema) -> Vec<String> {
    let internal = internal_tables(config);
    let entities = schema.entities();
    let warnings = entities.filter_map(|(_, entity)| {
        let (_, why) = internal.iter().find(|(table, _)| can_match(table, &entity.table))?;
        Some(format!(
            "the schema document serves the table '{}' as '{}', but {why}; remove the entity unless clients may read them",
            entity.table.name, entity.key
        ))
    });
    warnings.collect()
}
