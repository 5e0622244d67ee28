//! The schema document, with the names of `SPEC §6`.

mod entries;
pub(crate) mod join_condition;
mod read;
mod table_name;
pub(crate) mod template;
mod writable;

use std::collections::HashSet;

use serde::Serialize;

pub use self::entries::Entries;
use self::read::ParseOutcome;
pub use self::writable::{FieldList, Writable};
use crate::fault::Positions;
use crate::policy::RoleDocument;
use crate::serialize::is_default;
use crate::{Cardinality, Catalog, Faults, FieldType, Schema, TableName, Upload, load};

/// A parsed schema document. Its structure has been checked, its meaning has not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Document {
    /// Entities by key.
    pub entities: Entries<EntityDocument>,
    /// Relations by `entityKey.ref`.
    #[serde(skip_serializing_if = "is_default")]
    pub joins: Entries<JoinDocument>,
    /// Permissions by role; `None` permits everything to every role.
    #[serde(skip_serializing_if = "is_default")]
    pub policies: Option<Entries<RoleDocument>>,
    #[serde(skip)]
    pub(crate) positions: Positions,
}

impl Document {
    /// Parses JSON text and checks its structure: syntax, types of values, unknown keys, duplicate keys.
    ///
    /// # Errors
    /// Every fault of the structure.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let reading = read::read(text);
        if reading.faults.is_empty() { Ok(reading.document) } else { Err(reading.faults.into()) }
    }

    /// Resolves every name.
    ///
    /// With a catalog, tables and columns must exist in it, and it supplies the types, nullability and descriptions
    /// that the document does not specify.
    ///
    /// # Errors
    /// Every fault of the document.
    pub fn load(&self, catalog: Option<&Catalog>) -> Result<Schema, Faults> {
        load::load(self, catalog, &HashSet::new())
    }

    /// Returns the tables and columns of fields that the document declares as dates or times. Back ends sample these
    /// columns before the document is loaded, to find out how they store times. `SPEC §5.5`
    pub fn time_columns(&self) -> Vec<(String, String)> {
        let mut columns = Vec::new();
        for (key, entity) in self.entities.iter() {
            let table = entity.table.clone().unwrap_or_else(|| load::default_table(key));
            let Ok(table) = TableName::parse(&table) else { continue };
            let times =
                entity.types.iter().filter(|(_, ty)| matches!(ty, FieldType::Datetime | FieldType::Date));
            columns.extend(times.map(|(field, _)| {
                let column = entity.columns.get(field).map_or(field, String::as_str);
                (table.name.clone(), column.to_owned())
            }));
        }
        columns
    }

    /// Returns the document as indented JSON, which [`Document::parse`] parses to an equal document.
    #[expect(clippy::expect_used, reason = "all keys are strings and no value can fail to serialize")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a document is always JSON")
    }
}

impl Schema {
    /// Parses and loads JSON text.
    ///
    /// # Errors
    /// The faults of structure and of meaning together. Each mistake is reported once: parts that depend on a part
    /// with a wrong structure are not checked.
    pub fn read(text: &str, catalog: Option<&Catalog>) -> Result<Self, Faults> {
        let ParseOutcome { document, mut faults, is_complete, unsound } = read::read(text);
        if faults.is_empty() {
            return document.load(catalog);
        }
        if is_complete {
            faults.extend(load::load(&document, catalog, &unsound).err().into_iter().flatten());
        }
        Err(faults.into())
    }
}

/// An entity of the document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityDocument {
    /// The allowlist of scalar fields.
    pub fields: Vec<String>,
    /// The storage table; `None` for the default name.
    #[serde(skip_serializing_if = "is_default")]
    pub table: Option<String>,
    /// Storage columns by field, where the names differ.
    #[serde(skip_serializing_if = "is_default")]
    pub columns: Entries<String>,
    /// The fields that identify a row.
    #[serde(skip_serializing_if = "is_default")]
    pub id_field: IdField,
    /// Types by field, where they differ from the type of the storage column.
    #[serde(skip_serializing_if = "is_default")]
    pub types: Entries<FieldType>,
    /// Accepted files by field.
    #[serde(skip_serializing_if = "is_default")]
    pub uploads: Entries<Upload>,
    /// The writes that are permitted.
    #[serde(skip_serializing_if = "is_default")]
    pub writable: Writable,
    /// How its records are searched; `None` if they cannot be.
    #[serde(skip_serializing_if = "is_default")]
    pub search: Option<SearchDocument>,
    /// Computed fields by name.
    #[serde(skip_serializing_if = "is_default")]
    pub computed: Entries<ComputedDocument>,
    /// The description of its records; `None` for the comment of the table.
    #[serde(skip_serializing_if = "is_default")]
    pub description: Option<String>,
    /// Descriptions by field or computed field, where they differ from the comment of the column.
    #[serde(skip_serializing_if = "is_default")]
    pub descriptions: Entries<String>,
}

/// The property `idField`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum IdField {
    /// Absent: the field `id`.
    #[default]
    Unset,
    /// `null`: rows have no id, and only collections can be read.
    Null,
    /// The field of that name.
    Field(String),
    /// Several fields, which identify a row together.
    Fields(Vec<String>),
}

/// Collects the names of fields. No name becomes `null`, and a single name is written as text.
impl FromIterator<String> for IdField {
    fn from_iter<I: IntoIterator<Item = String>>(fields: I) -> Self {
        let mut fields: Vec<String> = fields.into_iter().collect();
        match fields.len() {
            0 => Self::Null,
            1 => fields.pop().map_or(Self::Null, Self::Field),
            _ => Self::Fields(fields),
        }
    }
}

/// The property `search`. `SPEC §20.1`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SearchDocument {
    /// The text fields that are searched.
    pub fields: Vec<String>,
    /// PostgreSQL's text search configuration; `None` for `simple`.
    #[serde(skip_serializing_if = "is_default")]
    pub language: Option<String>,
    /// SQLite's FTS5 table.
    #[serde(skip_serializing_if = "is_default")]
    pub table: Option<String>,
}

/// A computed field of the document. `SPEC §13.5`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ComputedDocument {
    /// The fields it may use.
    pub from: Vec<String>,
    /// Text with `{field}` placeholders.
    pub template: String,
}

/// A relation of the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JoinDocument {
    /// The target's entity key.
    pub entity: String,
    /// Equalities between columns of the two tables, joined by `AND`.
    #[serde(skip_serializing_if = "is_default")]
    pub on: Option<String>,
    /// The property `type`.
    #[serde(rename = "type")]
    pub cardinality: Cardinality,
    /// The junction table of a many-to-many relation.
    #[serde(skip_serializing_if = "is_default")]
    pub through: Option<ThroughDocument>,
}

impl JoinDocument {
    /// Creates a relation to one row of `entity`.
    pub fn one(entity: impl Into<String>, on: impl Into<String>) -> Self {
        Self { entity: entity.into(), on: Some(on.into()), cardinality: Cardinality::One, through: None }
    }

    /// Creates a relation to many rows of `entity`.
    pub fn many(entity: impl Into<String>, on: impl Into<String>) -> Self {
        Self { cardinality: Cardinality::Many, ..Self::one(entity, on) }
    }

    /// Creates a many-to-many relation to `entity` through a junction table.
    pub fn through(entity: impl Into<String>, through: ThroughDocument) -> Self {
        Self { entity: entity.into(), on: None, cardinality: Cardinality::Many, through: Some(through) }
    }
}

/// The property `through` of a relation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThroughDocument {
    /// The junction table.
    pub table: String,
    /// Its column that refers to the parent.
    pub from: String,
    /// Its column that refers to the target.
    pub to: String,
}

impl ThroughDocument {
    /// Creates a junction table with its columns for the parent and for the target.
    pub fn new(table: impl Into<String>, from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { table: table.into(), from: from.into(), to: to.into() }
    }
}

#[cfg(test)]
mod tests;
