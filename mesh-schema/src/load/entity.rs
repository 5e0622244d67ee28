//! Loading of entities.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use super::lookup::{are_same_type, find_column};
use super::tie_break::tie_break;
use super::{Loader, default_table, is_reserved_entity};
use crate::document::template::{self, Part};
use crate::{
    Column, ColumnPair, Computed, ComputedDocument, Entity, EntityDocument, EntityId, Entries, Field,
    FieldId, FieldList, FieldType, FieldWrites, ForeignKey, IdField, KeyReference, Member, NativeType, Piece,
    Table, TableName, TimeForm, Writable,
};

impl<'a> Loader<'a> {
    pub(super) fn entity(&mut self, key: &str, document: &EntityDocument) {
        let path = format!("entities.{key}");
        if self.schema.by_key.contains_key(key) {
            self.fault(path, format!("The entity '{key}' is given twice"));
            return;
        }
        let before = self.faults.len();
        self.check_entity_key(&path, key);
        let table = self.table_name(&path, key, document);
        let stored = self.stored_table(&path, &table);
        let mut entity = Entity {
            key: key.to_owned(),
            table: stored.map_or(table, Table::full_name),
            description: stored.and_then(|table| table.description.clone()),
            native: Arc::new(stored.map(native_types).unwrap_or_default()),
            resolves_conflicts: stored.is_some_and(|table| table.resolves_conflicts),
            unique: stored.map(unique_keys).unwrap_or_default(),
            constraints: stored.map(|table| table.constraints.clone().into()).unwrap_or_default(),
            foreign_keys: stored.map(|table| self.foreign_keys(table)).unwrap_or_default(),
            ..Entity::default()
        };
        self.fields(&path, document, stored, &mut entity);
        mark_mixed(&mut entity);
        entity.id = self.id_fields(&path, document, &entity);
        if let Some(search) = &document.search {
            self.search(&path, search, stored, &mut entity);
        }
        for (name, computed) in document.computed.iter() {
            self.computed(&path, name, computed, &mut entity);
        }
        self.descriptions(&path, document, &mut entity);
        entity.tie_break = tie_break(&entity, stored);
        if self.unsound.contains(&path) {
            self.faults.truncate(before);
        }
        self.schema.by_key.insert(key.to_owned(), EntityId(self.schema.entities.len() as u32));
        self.schema.entities.push(entity);
        self.stored.push(stored);
    }

    fn foreign_keys(&self, table: &Table) -> Vec<KeyReference> {
        let key = |key: &ForeignKey| {
            let name = TableName { schema: key.target_schema.clone(), name: key.target.clone() };
            let target_table = self.tables.as_ref()?.find(&name)?;
            let columns =
                if key.target_columns.is_empty() { &target_table.primary_key } else { &key.target_columns };
            let pair = |(parent, target): (&String, &String)| ColumnPair {
                parent: parent.clone(),
                target: target.clone(),
                is_same_type: are_same_type([table, target_table], [parent, target]),
            };
            let pairs = key.columns.iter().zip(columns).map(pair).collect();
            Some(KeyReference { table: target_table.full_name(), pairs })
        };
        table.foreign_keys.iter().filter_map(key).collect()
    }

    fn check_entity_key(&mut self, path: &str, key: &str) {
        self.check_name(path, "An entity", key);
        if is_reserved_entity(key) {
            self.fault(path, format!("The entity key '{key}' is reserved for a route; rename it"));
        }
        if key.contains('.') {
            self.fault(
                path,
                format!(
                    "The entity key '{key}' has a dot, which separates entity and ref in join keys; rename it"
                ),
            );
        }
    }

    fn table_name(&mut self, path: &str, key: &str, document: &EntityDocument) -> TableName {
        let fallback = TableName { schema: None, name: default_table(key) };
        let Some(text) = &document.table else { return fallback };
        TableName::parse(text).unwrap_or_else(|message| {
            self.fault(format!("{path}.table"), message);
            fallback
        })
    }

    pub(super) fn stored_table(&mut self, path: &str, name: &TableName) -> Option<&'a Table> {
        let tables = self.tables.as_ref()?;
        let found = tables.find(name);
        if found.is_none() {
            let hint = self.hint(&name.name, tables.names());
            self.fault(format!("{path}.table"), format!("The database has no table '{name}'{hint}"));
        }
        found
    }

    fn fields(&mut self, path: &str, document: &EntityDocument, stored: Option<&Table>, entity: &mut Entity) {
        if document.fields.is_empty() {
            self.fault(format!("{path}.fields"), "An entity needs at least one field");
        }
        for (index, name) in document.fields.iter().enumerate() {
            let inner = format!("{path}.fields[{index}]");
            if entity.members.contains_key(name) {
                self.fault(inner, format!("The field '{name}' is listed twice"));
                continue;
            }
            self.check_member_name(&inner, "A field", name);
            entity.members.insert(name.clone(), Member::Field(FieldId(entity.fields.len() as u32)));
            let field = Field {
                name: name.clone(),
                column: name.clone(),
                nullable: true,
                reads_null: true,
                ..Field::default()
            };
            entity.fields.push(field);
        }
        self.refuse_repeats(path, "columns", &document.columns);
        self.refuse_repeats(path, "types", &document.types);
        self.refuse_repeats(path, "uploads", &document.uploads);
        for (name, column) in document.columns.iter() {
            let inner = format!("{path}.columns.{name}");
            if column.is_empty() {
                self.fault(&inner, "A column needs a name");
            }
            if let Some(field) = self.field(&inner, name, entity) {
                field.column.clone_from(column);
            }
        }
        for (name, ty) in document.types.iter() {
            if let Some(field) = self.field(&format!("{path}.types.{name}"), name, entity) {
                field.ty = Some(*ty);
            }
        }
        for (name, upload) in document.uploads.iter() {
            let inner = format!("{path}.uploads.{name}");
            if upload.max_bytes == Some(0) {
                self.fault(format!("{inner}.maxBytes"), "Expected a whole number of bytes, at least 1");
            }
            if let Some(field) = self.field(&inner, name, entity) {
                field.upload = Some(upload.clone());
            }
        }
        self.writable(path, &document.writable, entity);
        if let Some(stored) = stored {
            self.storage(path, document, stored, entity);
        }
    }

    fn refuse_repeats<T>(&mut self, path: &str, map: &str, entries: &Entries<T>) {
        let mut seen = HashSet::new();
        for name in entries.keys() {
            if !seen.insert(name) {
                self.fault(format!("{path}.{map}.{name}"), format!("'{name}' is given twice"));
            }
        }
    }

    /// Returns the field with that name. Other names are faults at `path`.
    fn field<'e>(&mut self, path: &str, name: &str, entity: &'e mut Entity) -> Option<&'e mut Field> {
        if let Some(Member::Field(id)) = entity.member(name) {
            return entity.fields.get_mut(id.0 as usize);
        }
        self.fault_unknown_field(path, name, entity);
        None
    }

    pub(super) fn fault_unknown_field(&mut self, path: impl Into<String>, name: &str, entity: &Entity) {
        let hint = self.hint(name, entity.fields.iter().map(|field| field.name.as_str()));
        self.fault(path, format!("Field '{name}' not found on entity '{}'{hint}", entity.key));
    }

    fn writable(&mut self, path: &str, writable: &Writable, entity: &mut Entity) {
        entity.deletable = writable.delete;
        let path = format!("{path}.writable");
        if writable.listed().is_some() {
            self.field_list(&path, &writable.create, entity, |field| &mut field.writable.create);
            entity.fields.iter_mut().for_each(|field| field.writable.update = field.writable.create);
        } else {
            let create = format!("{path}.create");
            self.field_list(&create, &writable.create, entity, |field| &mut field.writable.create);
            let update = format!("{path}.update");
            self.field_list(&update, &writable.update, entity, |field| &mut field.writable.update);
        }
    }

    fn field_list(
        &mut self,
        path: &str,
        list: &FieldList,
        entity: &mut Entity,
        right: fn(&mut Field) -> &mut bool,
    ) {
        match list {
            FieldList::None => {}
            FieldList::All => entity.fields.iter_mut().for_each(|field| *right(field) = true),
            FieldList::Fields(names) => {
                for (index, name) in names.iter().enumerate() {
                    let inner = format!("{path}[{index}]");
                    let Some(field) = self.field(&inner, name, entity) else { continue };
                    if mem::replace(right(field), true) {
                        self.fault(inner, format!("The field '{name}' is listed twice"));
                    }
                }
            }
        }
    }

    /// Adopts types, nullability, forms and descriptions of the fields' columns from the catalog.
    fn storage(&mut self, path: &str, document: &EntityDocument, stored: &Table, entity: &mut Entity) {
        for (index, name) in document.fields.iter().enumerate() {
            let Some(field) = self.field(path, name, entity) else { continue };
            if copy_column_properties(field, stored) || field.column.is_empty() {
                continue;
            }
            let hint = self.hint(&field.column, stored.columns.iter().map(|column| column.name.as_str()));
            let message =
                format!("The table '{}' has no column '{}'{hint}", stored.full_name(), field.column);
            let inner = match document.columns.get(name) {
                Some(_) => format!("{path}.columns.{name}"),
                None => format!("{path}.fields[{index}]"),
            };
            self.fault(inner, message);
        }
    }

    /// Returns the fields that identify a row.
    fn id_fields(&mut self, path: &str, document: &EntityDocument, entity: &Entity) -> Vec<FieldId> {
        let path = format!("{path}.idField");
        let named = match &document.id_field {
            IdField::Null => return Vec::new(),
            IdField::Unset => match entity.member("id") {
                Some(Member::Field(id)) => return vec![id],
                _ if document.fields.is_empty() => return Vec::new(),
                _ => {
                    self.fault(path, "There is no field 'id'; set idField to the field that identifies a row, or to null if none does");
                    return Vec::new();
                }
            },
            IdField::Field(name) => vec![(path, name)],
            IdField::Fields(names) => {
                if names.len() < 2 {
                    self.fault(
                        &path,
                        "A list must have two or more fields; write a single field as text, or null if no field identifies a row",
                    );
                }
                names.iter().enumerate().map(|(index, name)| (format!("{path}[{index}]"), name)).collect()
            }
        };
        let mut ids = Vec::new();
        for (path, name) in named {
            match entity.member(name) {
                Some(Member::Field(id)) if ids.contains(&id) => {
                    self.fault(path, format!("The field '{name}' is listed twice"));
                }
                Some(Member::Field(id)) => ids.push(id),
                _ => self.fault_unknown_field(path, name, entity),
            }
        }
        ids
    }

    fn computed(&mut self, path: &str, name: &str, document: &ComputedDocument, entity: &mut Entity) {
        let path = format!("{path}.computed.{name}");
        self.check_member_name(&path, "A computed field", name);
        let taken = match entity.member(name) {
            Some(Member::Field(_)) => format!("'{name}' is already a field of entity '{}'", entity.key),
            Some(_) => format!("The computed field '{name}' is given twice"),
            None => String::new(),
        };
        if !taken.is_empty() {
            return self.fault(&path, taken);
        }
        let mut from = Vec::new();
        let mut seen = HashSet::new();
        for (index, field) in document.from.iter().enumerate() {
            let inner = format!("{path}.from[{index}]");
            match entity.member(field) {
                Some(Member::Field(id)) if !seen.insert(id) => {
                    self.fault(inner, format!("The field '{field}' is listed twice"));
                }
                Some(Member::Field(id)) => from.push(id),
                _ => self.fault_unknown_field(inner, field, entity),
            }
        }
        let template = self.template(&format!("{path}.template"), document, entity);
        entity.members.insert(name.to_owned(), Member::Computed(entity.computed.len()));
        entity.computed.push(Computed { name: name.to_owned(), from, template, description: None });
    }

    /// Replaces the comments of the database with the descriptions in the document.
    fn descriptions(&mut self, path: &str, document: &EntityDocument, entity: &mut Entity) {
        if document.description.is_some() {
            entity.description.clone_from(&document.description);
        }
        self.refuse_repeats(path, "descriptions", &document.descriptions);
        for (name, text) in document.descriptions.iter() {
            let description = match entity.member(name) {
                Some(Member::Computed(index)) => {
                    entity.computed.get_mut(index).map(|computed| &mut computed.description)
                }
                _ => self
                    .field(&format!("{path}.descriptions.{name}"), name, entity)
                    .map(|field| &mut field.description),
            };
            if let Some(description) = description {
                *description = Some(text.clone());
            }
        }
    }

    fn template(&mut self, path: &str, document: &ComputedDocument, entity: &Entity) -> Vec<Piece> {
        let parts = match template::parse(&document.template) {
            Ok(parts) => parts,
            Err(message) => {
                self.fault(path, message);
                return Vec::new();
            }
        };
        let listed: HashSet<&str> = document.from.iter().map(String::as_str).collect();
        let mut pieces = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) => pieces.push(Piece::Text(text)),
                Part::Name(name) if !listed.contains(name.as_str()) => {
                    let hint = self.hint(&name, document.from.iter().map(String::as_str));
                    self.fault(path, format!("The template uses '{name}', which 'from' does not list{hint}"));
                }
                // Names in `from` that are not fields have been reported already.
                Part::Name(name) => {
                    if let Some(Member::Field(id)) = entity.member(&name) {
                        pieces.push(Piece::Field(id));
                    }
                }
            }
        }
        pieces
    }
}

/// Returns the sets of columns whose values are unique in a table.
fn unique_keys(table: &Table) -> Vec<Vec<String>> {
    let keys = table.unique.iter().chain([&table.primary_key]);
    keys.filter(|set| !set.is_empty() && !table.has_inheriting_tables).cloned().collect()
}

/// Returns the storage types of a table, by column.
fn native_types(table: &Table) -> HashMap<String, NativeType> {
    let keys = unique_keys(table);
    let known = table.columns.iter().filter_map(|column| {
        let unique = keys.iter().any(|set| matches!(set.as_slice(), [only] if *only == column.name));
        Some((column.name.clone(), NativeType { unique, ..column.native.clone()? }))
    });
    known.collect()
}

/// Gives the columns that hold values in several forms a storage type, so that statements convert them.
fn mark_mixed(entity: &mut Entity) {
    let mixed = entity.fields.iter().filter(|field| matches!(field.time_form, Some(TimeForm::Mixed { .. })));
    let mixed: Vec<_> = mixed.map(|field| (field.column.clone(), NativeType::mixed(field.ty))).collect();
    if !mixed.is_empty() {
        Arc::make_mut(&mut entity.native).extend(mixed);
    }
}

/// Copies the properties of a field's column from the catalog. Returns whether the table has that column.
fn copy_column_properties(field: &mut Field, stored: &Table) -> bool {
    let Some((name, column)) = find_column(stored, &field.column) else { return false };
    name.clone_into(&mut field.column);
    // The row id is an integer that is never NULL.
    field.stored = column.map_or(Some(FieldType::Integer), |column| column.ty);
    field.ty = match (field.ty, field.stored) {
        (None | Some(FieldType::Integer), Some(FieldType::Unsigned)) => field.stored,
        (ty, stored) => ty.or(stored),
    };
    field.nullable = column.is_some_and(|column| column.nullable);
    field.reads_null = column.is_some_and(|column| column.nullable || column.not_finite);
    field.incomparable = column.is_some_and(|column| !column.is_comparable());
    field.required = column.is_some_and(|column| column.required);
    field.generated = column.is_some_and(|column| column.generated);
    if field.generated {
        field.writable = FieldWrites::default();
    }
    let form = |column: &Column| column.sampled.form(field.ty, column.ty, column.time_form);
    field.time_form = column.and_then(form);
    field.description = column.and_then(|column| column.description.clone());
    true
}
