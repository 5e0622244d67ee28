//! Checked writes with every name resolved, and the trait that executes them. `SPEC §11`

mod effect;
mod fields;
mod mutator;
mod reply;

use std::fmt;
use std::sync::Arc;

use mesh_schema::{ColumnPair, Entity, EntityId, Schema, TableName};

use crate::error::Rule;
pub use crate::outcome::Outcome;
use crate::plan::{Node, Plan, Predicate, ReadTarget};
use crate::value::key;
pub use crate::value::key::JsonId;
use crate::{Key, Value, WriteError};
pub use fields::{Fields, FieldsError};
pub use mutator::{Mutator, Written};
pub use reply::WriteReply;

/// A checked write. Only the planner creates mutations, so every name in one is in the schema, and values have the types of
/// their fields.
#[derive(Clone, Debug)]
pub struct Mutation {
    pub(crate) subject: GuardedEntity,
    pub(crate) action: Action,
    pub(crate) references: Vec<Reference>,
    /// The read that shapes the reply. The creations of a list share it.
    pub(crate) reply: Option<Arc<Plan>>,
}

impl Mutation {
    /// Returns the entity of the path.
    pub fn subject(&self) -> &GuardedEntity {
        &self.subject
    }

    /// Returns the action of the write.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Returns the references in the body to records that policies might hide. The mutator must check that the records exist
    /// ([`Reference`]).
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Returns whether the error may come from a concurrent write that created or deleted the record. If so, the write may
    /// succeed when it is repeated.
    pub fn is_raced(&self, error: &WriteError) -> bool {
        let is_of_id =
            |fields: &[String]| self.subject.entity().id_fields().any(|id| fields.contains(&id.name));
        let is_race = match error {
            WriteError::NotFound { .. } => true,
            WriteError::Conflict { rule: Rule::Unique, fields, .. } => is_of_id(fields),
            _ => false,
        };
        is_race && matches!(self.action, Action::Merge { .. })
    }

    /// Returns the read that shapes the reply, for the record with that id; `None` if the reply has no body. A mutator that
    /// runs it in the transaction of the write replies with exactly what it has written, and a failure undoes the write;
    /// otherwise [`crate::Mesh::write`] runs it afterwards.
    pub fn reply(&self, id: &Key) -> Option<Plan> {
        self.reply.as_deref().map(|plan| Plan { target: ReadTarget::Point(id.clone()), ..plan.clone() })
    }

    /// Returns the field of a column that the write sets to NULL although it may not be empty. The record whose columns the
    /// write sets comes first, since the other one may have a column of the same name. For messages.
    pub fn emptied_field(&self, column: &str) -> Option<&str> {
        let other = self.action.other().map(|other| &other.subject);
        let first = match self.action.assigned(&self.subject) {
            Some(subject) => Some(subject),
            None => self.action.linked(&self.subject).map(|(subject, _)| subject),
        };
        let subjects = first.into_iter().chain([&self.subject]).chain(other);
        subjects.into_iter().find_map(|subject| subject.field_of_column(column))
    }

    /// Returns the fields that the write sets to NULL although they may not be empty. For messages.
    pub fn emptied_fields(&self) -> Vec<String> {
        let is_filled = |subject: &GuardedEntity, column: &str| {
            let entity = subject.entity();
            entity.field_of_column(column).is_some_and(|id| !entity.field(id).nullable)
        };
        let (subject, columns): (_, Vec<&str>) = match self.action.assigned(&self.subject) {
            Some(subject) => {
                let empty = self.action.values().iter().filter(|value| value.value == Value::Null);
                (subject, empty.map(|value| &*value.column).collect())
            }
            None => match self.action.linked(&self.subject) {
                Some(linked) => linked,
                None => return Vec::new(),
            },
        };
        subject.fields_of_columns(columns.into_iter().filter(|column| is_filled(subject, column)))
    }

    /// Returns the entity whose record the reply shows: the related one if a relation is written.
    pub fn written(&self) -> &GuardedEntity {
        self.action.other().map_or(&self.subject, |other| &other.subject)
    }
}

/// A write of a record or of one of its relations. `id` is the id of the record in the path, and `other` is the relation
/// with its target.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the documentation of the variants explains their fields")]
pub enum Action {
    /// Creates a record with these values.
    Create { values: Vec<Assignment> },
    /// Changes values of a record. Without any, the record is only read.
    Update { id: Key, values: Vec<Assignment> },
    /// Updates the record with that id if it exists and fulfills its guard, else creates it. `update` is an
    /// [`Action::Update`], and `create` an [`Action::Create`].
    Merge { id: Key, update: Box<Mutation>, create: Box<Mutation> },
    /// Deletes a record.
    Delete { id: Key },
    /// Creates a record with these values at the other end of a to-many relation.
    CreateChild { id: Key, other: Box<RelatedRecord>, values: Vec<Assignment> },
    /// Adds the pair with the record `to` to a junction, unless it exists already.
    AddPair { id: Key, other: Box<RelatedRecord>, to: Key },
    /// Sets the record at the other end of a to-one relation to `to`.
    Connect { id: Key, other: Box<RelatedRecord>, to: Key },
    /// Removes the link of a to-one relation.
    Disconnect { id: Key, other: Box<RelatedRecord> },
    /// Deletes the record `child` at the other end of a to-many relation; over a junction, only the pair.
    Remove { id: Key, other: Box<RelatedRecord>, child: Key },
}

impl Action {
    /// Returns the id of the record in the path; `None` if the write creates it.
    pub fn id(&self) -> Option<&Key> {
        match self {
            Self::Create { .. } => None,
            Self::Update { id, .. }
            | Self::Merge { id, .. }
            | Self::Delete { id }
            | Self::CreateChild { id, .. }
            | Self::AddPair { id, .. }
            | Self::Connect { id, .. }
            | Self::Disconnect { id, .. }
            | Self::Remove { id, .. } => Some(id),
        }
    }

    /// Returns the relation that is written, and its target.
    pub fn other(&self) -> Option<&RelatedRecord> {
        match self {
            Self::Create { .. } | Self::Update { .. } | Self::Merge { .. } | Self::Delete { .. } => None,
            Self::CreateChild { other, .. }
            | Self::AddPair { other, .. }
            | Self::Connect { other, .. }
            | Self::Disconnect { other, .. }
            | Self::Remove { other, .. } => Some(other),
        }
    }

    /// Returns the id of the related record, if the request names it.
    pub fn other_id(&self) -> Option<&Key> {
        match self {
            Self::AddPair { to, .. } | Self::Connect { to, .. } => Some(to),
            Self::Remove { child, .. } => Some(child),
            _ => None,
        }
    }

    /// Returns the entity of the record that the values are written to; `None` if the action writes no values.
    pub fn assigned<'m>(&'m self, subject: &'m GuardedEntity) -> Option<&'m GuardedEntity> {
        match self {
            Self::Create { .. } | Self::Update { .. } | Self::Merge { .. } => Some(subject),
            Self::CreateChild { other, .. } => Some(&other.subject),
            _ => None,
        }
    }

    /// Returns the record of which a relation's link is a column, if the action only writes that link.
    fn linked<'m>(&'m self, subject: &'m GuardedEntity) -> Option<(&'m GuardedEntity, Vec<&'m str>)> {
        let other = self.other()?;
        match &other.link {
            LinkLocation::InParent(key) => {
                Some((subject, key.set.iter().map(|pair| &*pair.parent).collect()))
            }
            LinkLocation::InRelated(key) => {
                Some((&other.subject, key.set.iter().map(|pair| &*pair.target).collect()))
            }
            LinkLocation::Junction { .. } => None,
        }
    }

    /// Returns the values to write. For an [`Action::Merge`], returns the values of the new record.
    pub fn values(&self) -> &[Assignment] {
        match self {
            Self::Create { values } | Self::Update { values, .. } | Self::CreateChild { values, .. } => {
                values
            }
            Self::Merge { create, .. } => create.action.values(),
            _ => &[],
        }
    }
}

/// A field and its new value, which the type of the field can hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The field's name.
    pub field: Arc<str>,
    /// The storage column.
    pub column: Arc<str>,
    /// The value in its storage form.
    pub value: Value,
}

/// A reference in the body to another record. One of the targets must have a record that fulfills [`GuardedEntity::guard`] and has
/// these values. Otherwise, or if there is no target, the write fails with [`WriteError::NoReferred`]. A reference is listed
/// only if policies restrict each of its targets.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The field of the body, for messages.
    pub field: String,
    /// Whether the condition on the written record excludes the value. If so, the write fails with [`WriteError::Refused`]
    /// instead.
    pub is_excluded: bool,
    /// The entities that the columns may refer to and that the principal may see.
    pub targets: Vec<ReferenceTarget>,
}

/// An entity that a reference may point to.
#[derive(Clone, Debug)]
pub struct ReferenceTarget {
    /// The entity.
    pub subject: GuardedEntity,
    /// The columns by which the referenced record is found.
    pub columns: Vec<ReferenceColumn>,
}

/// A column that is compared to find the record of a reference.
#[derive(Clone, Debug)]
pub struct ReferenceColumn {
    /// The column of the target.
    pub target: String,
    /// The column of the record that is written.
    pub column: String,
    /// The value in the body; `None` if the record keeps its current value.
    pub value: Option<Value>,
}

/// An entity of a write, with the conditions that policies put on its records. The records are found by their ids.
#[derive(Clone)]
pub struct GuardedEntity {
    pub(crate) schema: Arc<Schema>,
    pub(crate) entity: EntityId,
    /// The records that the write may use; `None` without a condition.
    pub(crate) guard: Option<Arc<Node>>,
    /// The records that may result from the write; `None` without a condition.
    pub(crate) check: Option<Arc<Node>>,
}

impl GuardedEntity {
    /// Returns the entity.
    pub fn entity(&self) -> &Entity {
        self.schema.entity(self.entity)
    }

    /// Returns the schema of the entity.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the id of the entity in its schema.
    pub fn entity_id(&self) -> EntityId {
        self.entity
    }

    /// Returns the entity's key.
    pub fn key(&self) -> &str {
        &self.entity().key
    }

    /// Returns the table of its rows.
    pub fn table(&self) -> &TableName {
        &self.entity().table
    }

    /// Returns the storage columns of the id, in the order of its parts.
    pub fn id_columns(&self) -> impl Iterator<Item = &str> {
        self.entity().id_fields().map(|field| field.column.as_str())
    }

    /// Returns the field of a column, if the principal may see it. For messages.
    pub fn field_of_column(&self, column: &str) -> Option<&str> {
        let entity = self.entity();
        let name = entity.field(entity.field_of_column(column)?).name.as_str();
        entity.member(name).map(|_| name)
    }

    /// Returns the fields of the constraint or index with that name, if the principal may see them. For messages.
    pub fn fields_of_constraint(&self, name: &str) -> Vec<String> {
        let mut rules = self.entity().constraints.iter();
        let columns = rules.find(|rule| rule.name == name).map(|rule| rule.columns.as_slice());
        self.fields_of_columns(columns.unwrap_or_default().iter().map(String::as_str))
    }

    /// Returns the fields of columns, if the principal may see them. For messages.
    pub fn fields_of_columns<'c>(&self, columns: impl Iterator<Item = &'c str>) -> Vec<String> {
        columns.filter_map(|column| self.field_of_column(column)).map(str::to_owned).collect()
    }

    /// Returns the condition of policies that a record must fulfill before the write. It may depend on related records
    /// ([`GuardedEntity::guarded`]).
    pub fn guard(&self) -> Option<&Predicate> {
        self.guard.as_deref()?.filter.as_ref()
    }

    /// Returns the condition of policies that a record must fulfill after it was created or changed. It may depend on related
    /// records ([`GuardedEntity::checked`]).
    pub fn check(&self) -> Option<&Predicate> {
        self.check.as_deref()?.filter.as_ref()
    }

    /// Returns the records that fulfill the condition before the write, with the related records that the condition uses.
    pub fn guarded(&self) -> Option<&Node> {
        self.guard.as_deref()
    }

    /// Returns the records that fulfill the condition after the write, with the related records that the condition uses.
    pub fn checked(&self) -> Option<&Node> {
        self.check.as_deref()
    }

    /// Returns the fields that are NULL in an id, if the principal may see them. For messages.
    pub fn null_fields(&self, id: &Key) -> Vec<String> {
        let columns = self.id_columns().enumerate();
        let nulls = columns.filter(|(part, _)| id.get(*part).is_none_or(|value| *value == Value::Null));
        nulls.filter_map(|(_, column)| self.field_of_column(column)).map(str::to_owned).collect()
    }

    /// Returns the text of an id as in [`crate::RecordId::Text`].
    pub fn id_text(&self, id: &Key) -> String {
        let mut parts = self.entity().id_fields().zip(id.iter()).map(|(field, value)| {
            let mut text = Vec::new();
            crate::shape::write_text(&mut text, field.ty, field.time_form, value.as_ref());
            String::from_utf8(text)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        });
        match id.len() {
            1 => parts.next().unwrap_or_default(),
            _ => key::join(parts.collect::<Vec<_>>().iter().map(String::as_str)),
        }
    }

    /// Returns the error of a write to a record that does not exist.
    pub fn not_found(&self, id: &Key) -> WriteError {
        WriteError::NotFound { entity: self.key().to_owned(), id: self.id_text(id) }
    }
}

impl fmt::Debug for GuardedEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedEntity")
            .field("entity", &self.key())
            .field("guard", &self.guard())
            .field("check", &self.check())
            .finish()
    }
}

/// The other end of a relation that is written.
#[derive(Clone, Debug)]
pub struct RelatedRecord {
    /// The relation's name.
    pub relation: String,
    /// Its target.
    pub subject: GuardedEntity,
    /// The location of the link.
    pub link: LinkLocation,
}

/// The location of the link between two records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkLocation {
    /// The record of the path: its columns refer to the other record.
    InParent(LinkColumns),
    /// The other record: its columns refer to the record of the path.
    InRelated(LinkColumns),
    /// A junction table.
    Junction {
        /// The junction table.
        table: TableName,
        /// The junction's column with the key of the record of the path.
        from: String,
        /// The junction's column with the other record's key.
        to: String,
        /// The column that `from` refers to.
        parent: String,
        /// The column that `to` refers to.
        target: String,
    },
}

/// The columns of a link that is stored in one of the two records. In each pair, `parent` is a column of the record in the
/// path, and `target` is a column of the other record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkColumns {
    /// Pairs that store the link: one side is set to create the link, and set to NULL to remove it.
    pub set: Vec<ColumnPair>,
    /// Pairs that must be equal for a link. The write does not change them.
    pub same: Vec<ColumnPair>,
}

impl LinkColumns {
    /// Returns all pairs.
    pub fn all(&self) -> impl Iterator<Item = &ColumnPair> {
        self.set.iter().chain(&self.same)
    }
}
