//! The storage columns that make the order of an entity's rows total. `SPEC §3.9`

use std::collections::HashSet;

use crate::{Entity, Field, FieldType, KeyColumn, Table};

/// Returns the storage columns that make an order of the entity's rows total. `SPEC §3.9`
pub(super) fn tie_break(entity: &Entity, table: Option<&Table>) -> Vec<KeyColumn> {
    let id: Vec<&Field> = entity.id_fields().collect();
    match (id.is_empty(), table) {
        (false, Some(table)) => additional_columns(&id, table),
        (true, Some(table)) => key_columns(entity, table),
        (false, None) => Vec::new(),
        (true, None) => exposed_columns(entity),
    }
}

/// Returns the columns needed in addition to the id fields: none if their columns are unique and never NULL.
fn additional_columns(id: &[&Field], table: &Table) -> Vec<KeyColumn> {
    if id.iter().all(|field| !field.nullable) && is_unique(table, id) {
        return Vec::new();
    }
    if let Some(row_id) = &table.row_id {
        return vec![non_null_column(row_id)];
    }
    let key = primary_key(table);
    if key.iter().any(|column| column.nullable) {
        return Vec::new();
    }
    key.into_iter().filter(|column| id.iter().all(|field| field.column != column.column)).collect()
}

/// Returns whether the columns of the id fields are unique together. If the catalog has no keys, as for a view, the document's
/// `idField` is trusted.
fn is_unique(table: &Table, id: &[&Field]) -> bool {
    let is_in_id = |column: &String| id.iter().any(|field| field.column.eq_ignore_ascii_case(column));
    let is_contained = |set: &[String]| !set.is_empty() && set.iter().all(is_in_id);
    let unknown = table.primary_key.is_empty() && table.unique.is_empty() && table.row_id.is_none();
    unknown
        || is_contained(&table.primary_key)
        || table.unique.iter().any(|set| is_contained(set))
        || table.row_id.as_ref().is_some_and(|row_id| id.iter().any(|field| field.column == *row_id))
}

/// Returns the primary key or the row id. Cursors contain these values, so the row id is preferred to a key that the
/// entity does not expose.
fn key_columns(entity: &Entity, table: &Table) -> Vec<KeyColumn> {
    let key = primary_key(table);
    let is_unsuitable =
        |column: &KeyColumn| column.nullable || entity.field_of_column(&column.column).is_none();
    match &table.row_id {
        Some(row_id) if key.is_empty() || key.iter().any(is_unsuitable) => vec![non_null_column(row_id)],
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

fn non_null_column(column: &str) -> KeyColumn {
    KeyColumn { column: column.to_owned(), nullable: false }
}
