//! What may be read? The schema after loading: every name resolved to a small id, every join to columns.
//!
//! A [`Schema`] is made by the loader only ([`crate::Document::load`]), so one that exists is whole: its
//! relations lead to entities, its fields to columns, and nothing is looked up by text afterwards except
//! the names that a client sends.

use std::collections::HashMap;
use std::sync::Arc;

use crate::policy::RoleDocument;
use crate::{Entries, NativeType, TimeForm};

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
}

impl Schema {
    /// The entity of that key.
    pub fn find(&self, key: &str) -> Option<EntityId> {
        self.by_key.get(key).copied()
    }

    /// The entity of that id. Ids come from this schema; of another schema's, the answer means nothing.
    #[expect(clippy::indexing_slicing, reason = "ids are made by the loader of the same schema")]
    pub fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.0 as usize]
    }

    /// What each role may read and write, where the document says so. What stands in it has been checked.
    pub fn policies(&self) -> Option<&Entries<RoleDocument>> {
        self.policies.as_ref()
    }

    /// All entities with their ids, in the order of the document.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, &Entity)> {
        let all = self.entities.iter().enumerate().map(|(index, entity)| (EntityId(index as u32), entity));
        all.filter(|(_, entity)| self.by_key.contains_key(&entity.key))
    }
}

/// An entity: what a URL names, stored as the rows of one table.
#[derive(Clone, Debug)]
pub struct Entity {
    /// The key in URLs and at the root of queries.
    pub key: String,
    /// Where its rows are stored.
    pub table: TableName,
    /// The allowlist of scalar fields, in the order of the document.
    pub fields: Vec<Field>,
    /// The field that identifies a row; `None` means collection reads only.
    pub id: Option<FieldId>,
    /// Storage columns that make an order total where the id field alone does not: the key columns or the
    /// row id of a table without an id field; after the id field, if that may be NULL. `SPEC §3.9`
    pub tie_break: Vec<KeyColumn>,
    /// Its relations, in the order of the document.
    pub relations: Vec<Relation>,
    /// Templates of computed fields.
    pub computed: Vec<Computed>,
    /// What introspection says of it.
    pub description: Option<String>,
    /// The storage types of its table's columns, those that are no fields among them; empty where the
    /// database has none or nothing is known of it.
    pub native: Arc<HashMap<String, NativeType>>,
    pub(crate) members: HashMap<String, Member>,
}

/// What a name inside an entity stands for.
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
    /// What that name stands for in this entity. Fields, relations and computed fields share one namespace.
    pub fn member(&self, name: &str) -> Option<Member> {
        self.members.get(name).copied()
    }

    /// The field of that id, which must come from this entity.
    #[expect(clippy::indexing_slicing, reason = "ids are made by the loader of the same entity")]
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.0 as usize]
    }

    /// The relation of that id, which must come from this entity.
    #[expect(clippy::indexing_slicing, reason = "ids are made by the loader of the same entity")]
    pub fn relation(&self, id: RelationId) -> &Relation {
        &self.relations[id.0 as usize]
    }

    /// The names that stand for something, in the order of the document: fields, relations, computed fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().map(|field| field.name.as_str());
        let relations = self.relations.iter().map(|relation| relation.name.as_str());
        let computed = self.computed.iter().map(|computed| computed.name.as_str());
        fields.chain(relations).chain(computed).filter(|name| self.members.contains_key(*name))
    }

    /// The scalar fields with their ids.
    pub fn field_ids(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.fields.iter().enumerate().map(|(index, field)| (FieldId(index as u32), field))
    }

    /// The relations with their ids.
    pub fn relation_ids(&self) -> impl Iterator<Item = (RelationId, &Relation)> {
        self.relations.iter().enumerate().map(|(index, relation)| (RelationId(index as u32), relation))
    }

    /// The field that is stored in that column, if any.
    pub fn field_of_column(&self, column: &str) -> Option<FieldId> {
        self.field_ids().find_map(|(id, field)| (field.column == column).then_some(id))
    }
}

/// A table's name as it stands in storage, with its namespace where one is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    /// Namespace, `None` for the default one.
    pub schema: Option<String>,
    /// The table.
    pub name: String,
}

/// A scalar field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name on the wire.
    pub name: String,
    /// The storage column that holds it.
    pub column: String,
    /// Its type: as the document says, else the storage column's, else unknown.
    pub ty: Option<FieldType>,
    /// Whether it can be NULL; true wherever nothing is known.
    pub nullable: bool,
    /// How its column writes times, where that was found out.
    pub time_form: Option<TimeForm>,
    /// What writes may do with it.
    pub writable: bool,
    /// Set when it takes files.
    pub upload: Option<Upload>,
    /// What introspection says of it.
    pub description: Option<String>,
}

/// A storage column that takes part in an order without being a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name as stored.
    pub column: String,
    /// Whether it can hold NULL.
    pub nullable: bool,
}

/// A field that takes files. `SPEC §9`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upload {
    /// The largest file, in bytes; the server's own bound where absent.
    pub max_bytes: Option<u64>,
    /// The allowed content types; any where absent.
    pub content_types: Option<Vec<String>>,
}

/// The types of fields; [`FieldType::ALL`] is the one list of them. `SPEC §6`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// Text.
    String,
    /// A 64-bit integer, a JSON number.
    Integer,
    /// A 64-bit integer that is JSON text, exact for clients whose numbers are doubles.
    Bigint,
    /// A double.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A point in time, ISO 8601 text.
    Datetime,
    /// A day, ISO 8601 text.
    Date,
    /// Nested JSON.
    Json,
    /// Bytes, base64 text.
    Binary,
    /// A UUID, text.
    Uuid,
    /// A number of exact decimal digits, text.
    Decimal,
}

impl FieldType {
    /// All types, in the order in which documents list them.
    pub const ALL: [Self; 11] = [
        Self::String,
        Self::Integer,
        Self::Bigint,
        Self::Number,
        Self::Boolean,
        Self::Datetime,
        Self::Date,
        Self::Json,
        Self::Binary,
        Self::Uuid,
        Self::Decimal,
    ];

    /// The type's name in schema documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Bigint => "bigint",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Datetime => "datetime",
            Self::Date => "date",
            Self::Json => "json",
            Self::Binary => "binary",
            Self::Uuid => "uuid",
            Self::Decimal => "decimal",
        }
    }

    /// The type of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }
}

/// A declared relation: how one entity's rows lead to another's.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its ref, unique among the entity's names.
    pub name: String,
    /// Where it leads.
    pub target: EntityId,
    /// How many rows it leads to.
    pub cardinality: Cardinality,
    /// Over which columns.
    pub link: Link,
}

/// How many rows a relation leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cardinality {
    /// An object or `null`.
    One,
    /// An array.
    Many,
}

impl Cardinality {
    /// The name in schema documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Many => "many",
        }
    }
}

/// The columns that connect a parent row with its children; never text to be pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The rows of the target whose columns equal the parent's.
    Direct {
        /// Equal columns, at least one pair.
        pairs: Vec<ColumnPair>,
    },
    /// The rows of the target that a junction table pairs with the parent.
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
    },
}

/// One equality of a direct link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPair {
    /// A column of the parent's table.
    pub parent: String,
    /// A column of the target's table.
    pub target: String,
}

/// A field made of others. `SPEC §13.5`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// Its name on the wire.
    pub name: String,
    /// The fields it is made of.
    pub from: Vec<FieldId>,
    /// Text and fields in turn.
    pub template: Vec<Piece>,
}

/// A piece of a computed field's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it stands.
    Text(String),
    /// The value of a field.
    Field(FieldId),
}
