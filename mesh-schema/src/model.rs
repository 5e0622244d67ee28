//! The loaded schema, in which every name is resolved to a small id and every join to columns.
//!
//! Only the loader ([`crate::Document::load`]) creates a [`Schema`], so every schema is complete: relations point to
//! entities and fields to columns. After loading, only names sent by clients are looked up by text.

mod computed;
mod search;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

pub use self::computed::ComputedError;
pub use self::search::{Search, SearchIndex, SqlPart};
use crate::policy::RoleDocument;
use crate::serialize::{is_default, named_enum};
use crate::{Constraint, Entries, NativeType, TimeForm};

/// Index of an entity in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(pub(crate) u32);

/// Index of a field in its [`Entity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub(crate) u32);

/// Index of a relation in its [`Entity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelationId(pub(crate) u32);

/// The allowlist that queries are checked against. `SPEC §6`
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub(crate) entities: Vec<Entity>,
    pub(crate) by_key: HashMap<String, EntityId>,
    pub(crate) policies: Option<Entries<RoleDocument>>,
    /// The tables with [`crate::Table::has_unseen_changes`].
    pub(crate) unseen: HashSet<TableName>,
}

impl Schema {
    /// Returns the id of the entity with that key.
    pub fn find(&self, key: &str) -> Option<EntityId> {
        self.by_key.get(key).copied()
    }

    /// Returns the entity with that id, which must come from this schema.
    #[expect(clippy::indexing_slicing, reason = "ids are made by the loader of the same schema")]
    pub fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.0 as usize]
    }

    /// Returns whether the rows of a table can change without a trace in the database.
    pub fn has_unseen_changes(&self, table: &TableName) -> bool {
        self.unseen.contains(table)
    }

    /// Returns the schema as if its document declared no policies.
    #[must_use]
    pub fn without_policies(&self) -> Self {
        Self { policies: None, ..self.clone() }
    }

    /// Returns what each role may read and write, if the document declares policies.
    pub fn policies(&self) -> Option<&Entries<RoleDocument>> {
        self.policies.as_ref()
    }

    /// Iterates over the entities with their ids, in document order.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, &Entity)> {
        let all = self.entities.iter().enumerate().map(|(index, entity)| (EntityId(index as u32), entity));
        all.filter(|(_, entity)| self.by_key.contains_key(&entity.key))
    }
}

/// An entity, which URLs name and whose records are the rows of one table.
#[derive(Clone, Debug, Default)]
pub struct Entity {
    /// The key, used in URLs and at the root of queries.
    pub key: String,
    /// The table that stores its rows.
    pub table: TableName,
    /// The allowlist of scalar fields, in document order.
    pub fields: Vec<Field>,
    /// The fields that together identify a row, in the order of the parts of its id. If there are none, only collections
    /// can be read. `SPEC §15`
    pub id: Vec<FieldId>,
    /// Storage columns that make an order total if the id fields alone do not: the key columns or the row id of a
    /// table without id fields, or further columns if an id field may be NULL. `SPEC §3.9`
    pub tie_break: Vec<KeyColumn>,
    /// Its relations, in document order.
    pub relations: Vec<Relation>,
    /// Its computed fields.
    pub computed: Vec<Computed>,
    /// How its records are searched; `None` if they cannot be.
    pub search: Option<Search>,
    /// Whether its records may be deleted.
    pub deletable: bool,
    /// The description shown by introspection.
    pub description: Option<String>,
    /// The storage types of all columns of its table, including columns that are not fields; empty if unknown.
    pub native: Arc<HashMap<String, NativeType>>,
    /// Whether the declaration of its table says what a violated rule does ([`crate::Table::resolves_conflicts`]).
    pub resolves_conflicts: bool,
    /// The sets of columns that the database guarantees to be unique; empty if unknown.
    pub unique: Vec<Vec<String>>,
    /// The foreign keys of its table; empty if unknown.
    pub foreign_keys: Vec<KeyReference>,
    /// The constraints and unique indexes of its table; empty if unknown.
    pub constraints: Arc<[Constraint]>,
    pub(crate) members: HashMap<String, Member>,
}

/// A foreign key with the columns that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReference {
    /// The referenced table.
    pub table: TableName,
    /// The column pairs: `parent` is the referencing column, `target` the referenced one.
    pub pairs: Vec<ColumnPair>,
}

/// A member of an entity that a name can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// A scalar field.
    Field(FieldId),
    /// A relation.
    Relation(RelationId),
    /// A computed field, by its index in [`Entity::computed`].
    Computed(usize),
}

impl Entity {
    /// Returns the member with that name. Fields, relations and computed fields share one namespace.
    pub fn member(&self, name: &str) -> Option<Member> {
        self.members.get(name).copied()
    }

    /// Returns the field with that id, which must come from this entity.
    #[expect(clippy::indexing_slicing, reason = "ids are made by the loader of the same entity")]
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.0 as usize]
    }

    /// Returns the fields that together identify a row.
    pub fn id_fields(&self) -> impl Iterator<Item = &Field> {
        self.id.iter().map(|id| self.field(*id))
    }

    /// Returns whether a column is the column of an id field, ignoring ASCII letter case.
    pub fn is_id_column(&self, column: &str) -> bool {
        self.id_fields().any(|field| field.column.eq_ignore_ascii_case(column))
    }

    /// Returns the relation with that id, which must come from this entity.
    #[expect(clippy::indexing_slicing, reason = "ids are made by the loader of the same entity")]
    pub fn relation(&self, id: RelationId) -> &Relation {
        &self.relations[id.0 as usize]
    }

    /// Returns whether its records may be created, which requires a field that can be set on creation.
    pub fn is_creatable(&self) -> bool {
        self.fields.iter().any(|field| field.writable.create)
    }

    /// Returns whether its records may be updated.
    pub fn is_updatable(&self) -> bool {
        self.fields.iter().any(|field| field.writable.update)
    }

    /// Returns whether any write of its records is permitted.
    pub fn is_writable(&self) -> bool {
        self.deletable || self.is_creatable() || self.is_updatable()
    }

    /// Iterates over the visible names in document order: fields, relations, computed fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().map(|field| field.name.as_str());
        let relations = self.relations.iter().map(|relation| relation.name.as_str());
        let computed = self.computed.iter().map(|computed| computed.name.as_str());
        fields.chain(relations).chain(computed).filter(|name| self.members.contains_key(*name))
    }

    /// Returns the field that is stored in a column, if there is one.
    pub fn field_of_column(&self, column: &str) -> Option<FieldId> {
        self.fields.iter().position(|field| field.column == column).map(|index| FieldId(index as u32))
    }
}

/// The storage name of a table, possibly with its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// Namespace, `None` for the default one.
    pub schema: Option<String>,
    /// The table.
    pub name: String,
}

/// A scalar field.
#[derive(Clone, Debug, Default)]
pub struct Field {
    /// Its name on the wire.
    pub name: String,
    /// The storage column that holds it.
    pub column: String,
    /// The type from the document, else the type of the storage column; `None` if unknown.
    pub ty: Option<FieldType>,
    /// Whether it can be NULL; `true` if unknown.
    pub nullable: bool,
    /// Whether it can be `null` in a response: NULL, or a number that JSON does not have.
    pub reads_null: bool,
    /// Whether the database cannot compare its values, so that only tests for NULL apply to it.
    pub incomparable: bool,
    /// Whether a new record needs a value for it; `false` if unknown.
    pub required: bool,
    /// Whether the database computes its values, so that no write sets it; `false` if unknown.
    pub generated: bool,
    /// The type of its column, if known.
    pub stored: Option<FieldType>,
    /// How its column stores times, if known.
    pub time_form: Option<TimeForm>,
    /// The writes whose bodies may set it.
    pub writable: FieldWrites,
    /// The limits on its files; `None` if the field accepts no files.
    pub upload: Option<Upload>,
    /// The writes and uploads that a restriction of the schema, such as a policy, denies.
    pub denied: FieldWrites,
    /// The description shown by introspection.
    pub description: Option<String>,
}

/// The kinds of writes that set a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldWrites {
    /// When a record is created.
    pub create: bool,
    /// When a record is updated.
    pub update: bool,
}

/// A storage column that is part of an order but need not be a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// The storage name.
    pub column: String,
    /// Whether it can hold NULL.
    pub nullable: bool,
}

/// The limits on the files of a field. `SPEC §9`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// Maximum size of a file in bytes; `None` means the bound of the server.
    #[serde(skip_serializing_if = "is_default")]
    pub max_bytes: Option<u64>,
    /// Accepted content types; `None` accepts any.
    #[serde(skip_serializing_if = "is_default")]
    pub content_types: Option<Vec<String>>,
}

named_enum! {
    /// The types of fields, in the order of the specification. `SPEC §6`
    FieldType {
        /// Text.
        String = "string",
        /// A 64-bit integer, a JSON number.
        Integer = "integer",
        /// A 64-bit integer encoded as JSON text, exact for clients whose numbers are doubles.
        Bigint = "bigint",
        /// A double.
        Number = "number",
        /// `true` or `false`.
        Boolean = "boolean",
        /// A point in time, ISO 8601 text.
        Datetime = "datetime",
        /// A day, ISO 8601 text.
        Date = "date",
        /// Nested JSON.
        Json = "json",
        /// Bytes, base64 text.
        Binary = "binary",
        /// A UUID, text.
        Uuid = "uuid",
        /// An exact decimal number, encoded as text.
        Decimal = "decimal",
    }
    also {
        /// An [`Self::Integer`] whose column holds 64 bits without a sign. Numbers beyond 2⁶³−1 are JSON text. Documents do not
        /// choose it; it comes from the column.
        Unsigned = "integer",
    }
}

impl FieldType {
    /// Returns whether values are 64-bit integers, which are JSON numbers where they fit.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Integer | Self::Unsigned)
    }
}

/// A declared relation from the rows of one entity to those of another.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The ref, unique among the names of the entity.
    pub name: String,
    /// The target entity.
    pub target: EntityId,
    /// Whether it yields one object or an array.
    pub cardinality: Cardinality,
    /// The columns that connect the rows.
    pub link: Link,
}

named_enum! {
    /// Whether a relation yields one object or an array.
    Cardinality {
        /// An object or `null`.
        One = "one",
        /// An array.
        Many = "many",
    }
}

/// The columns that connect a parent row with its related rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The target rows whose columns equal those of the parent.
    Direct {
        /// Pairs of equal columns, at least one.
        pairs: Vec<ColumnPair>,
    },
    /// The target rows that a junction table pairs with the parent.
    Through {
        /// The junction table.
        table: TableName,
        /// The junction's column that holds the parent's key.
        from: String,
        /// The junction's column that holds the target's key.
        to: String,
        /// The parent's column that `from` refers to.
        parent: String,
        /// The target's column that `to` refers to.
        target: String,
        /// Whether a key of the database makes the pairs unique, and both `to` and `target` are integers, so that a record
        /// is paired with a parent at most once.
        is_unique: bool,
    },
}

/// One equality of a direct link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPair {
    /// A column of the parent's table.
    pub parent: String,
    /// A column of the target's table.
    pub target: String,
    /// Whether both columns store integers, or both store text, so that every database compares them in the same way.
    pub is_same_type: bool,
}

/// A field computed from other fields. `SPEC §13.5`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// Its name on the wire.
    pub name: String,
    /// The fields it depends on.
    pub from: Vec<FieldId>,
    /// Literal text and fields, in order.
    pub template: Vec<Piece>,
    /// The description shown by introspection.
    pub description: Option<String>,
}

/// A piece of a computed field's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Text(String),
    /// The value of a field.
    Field(FieldId),
}
