//! A checked write with every name resolved, and the traits that execute it. `SPEC §11`
//!
//! A [`Mutation`] is made by the planner only, so one that exists names nothing outside the schema, and its
//! values are of the types of their fields. A [`Mutator`] carries it out as one transaction.

mod fields;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use mesh_schema::{ColumnPair, Entity, EntityId, FieldId, Schema, TableName};

use crate::plan::{Plan, Predicate, Target};
use crate::{BoxFuture, Context, JsonBody, Value, WriteError};
pub use fields::{Fields, FieldsError};

/// A checked write: all that a mutator needs to know. Cheap to clone but for its values.
#[derive(Clone, Debug)]
pub struct Mutation {
    pub(crate) subject: Subject,
    pub(crate) action: Action,
    pub(crate) reply: Option<Plan>,
}

impl Mutation {
    /// The entity that the path names.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What is done.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The read that shapes the reply, of the record with that id; `None` where the reply has no body.
    ///
    /// A mutator that runs it inside its own transaction answers with what it has written, whatever others
    /// write meanwhile. One that does not leaves it to [`crate::Mesh::write`].
    pub fn reply(&self, id: &Value) -> Option<Plan> {
        self.reply.as_ref().map(|plan| Plan { target: Target::Point(id.clone()), ..plan.clone() })
    }

    /// Whether the reply has a body.
    pub fn has_reply(&self) -> bool {
        self.reply.is_some()
    }

    /// The entity whose record the reply shows: the related one where a relation is written.
    pub fn written(&self) -> &Subject {
        self.action.other().map_or(&self.subject, |other| &other.subject)
    }
}

/// What is done to the record that the path names, or to what hangs on it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action {
    /// A new record.
    Create {
        /// Its fields.
        values: Vec<Assignment>,
    },
    /// Other values in a record.
    Update {
        /// The record.
        id: Value,
        /// The fields that change; none is a read.
        values: Vec<Assignment>,
    },
    /// The end of a record.
    Delete {
        /// The record.
        id: Value,
    },
    /// A new record at the other end of a to-many relation.
    CreateChild {
        /// The parent.
        id: Value,
        /// The relation and where it leads.
        other: RelatedRecord,
        /// The child's fields.
        values: Vec<Assignment>,
    },
    /// A pair in a junction; one that is there already stays.
    Link {
        /// The record.
        id: Value,
        /// The relation and where it leads.
        other: RelatedRecord,
        /// The record to link.
        to: Value,
    },
    /// Another record, or a first one, at the other end of a to-one relation.
    Connect {
        /// The record.
        id: Value,
        /// The relation and where it leads.
        other: RelatedRecord,
        /// The record to connect.
        to: Value,
    },
    /// No record at the other end of a to-one relation any more.
    Disconnect {
        /// The record.
        id: Value,
        /// The relation and where it leads.
        other: RelatedRecord,
    },
    /// The end of a record at the other end of a to-many relation; over a junction, the end of the pair only.
    Remove {
        /// The parent.
        id: Value,
        /// The relation and where it leads.
        other: RelatedRecord,
        /// The child.
        child: Value,
    },
}

impl Action {
    /// The id of the record that the path names; none where it is to be created.
    pub fn id(&self) -> Option<&Value> {
        match self {
            Self::Create { .. } => None,
            Self::Update { id, .. }
            | Self::Delete { id }
            | Self::CreateChild { id, .. }
            | Self::Link { id, .. }
            | Self::Connect { id, .. }
            | Self::Disconnect { id, .. }
            | Self::Remove { id, .. } => Some(id),
        }
    }

    /// The relation that is written, and where it leads.
    pub fn other(&self) -> Option<&RelatedRecord> {
        match self {
            Self::Create { .. } | Self::Update { .. } | Self::Delete { .. } => None,
            Self::CreateChild { other, .. }
            | Self::Link { other, .. }
            | Self::Connect { other, .. }
            | Self::Disconnect { other, .. }
            | Self::Remove { other, .. } => Some(other),
        }
    }

    /// The id of the related record, where the request names one.
    pub fn other_id(&self) -> Option<&Value> {
        match self {
            Self::Link { to, .. } | Self::Connect { to, .. } => Some(to),
            Self::Remove { child, .. } => Some(child),
            _ => None,
        }
    }

    /// The fields that are written, and their values.
    pub fn values(&self) -> &[Assignment] {
        match self {
            Self::Create { values } | Self::Update { values, .. } | Self::CreateChild { values, .. } => {
                values
            }
            _ => &[],
        }
    }
}

/// A field and its new value, which its type can hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The field's name.
    pub field: String,
    /// The storage column.
    pub column: String,
    /// The value, as the storage has it.
    pub value: Value,
}

/// An entity whose records are written, found by their ids.
#[derive(Clone)]
pub struct Subject {
    pub(crate) schema: Arc<Schema>,
    pub(crate) entity: EntityId,
    pub(crate) id: FieldId,
    pub(crate) guard: Option<Predicate>,
}

impl Subject {
    /// The entity.
    pub fn entity(&self) -> &Entity {
        self.schema.entity(self.entity)
    }

    /// The entity's key.
    pub fn key(&self) -> &str {
        &self.entity().key
    }

    /// Where its rows are stored.
    pub fn table(&self) -> &TableName {
        &self.entity().table
    }

    /// The storage column of its id.
    pub fn id_column(&self) -> &str {
        &self.entity().field(self.id).column
    }

    /// Returns the field of a column, if the principal may see it. For messages.
    pub fn field_of_column(&self, column: &str) -> Option<&str> {
        let entity = self.entity();
        let name = entity.field(entity.field_of_column(column)?).name.as_str();
        entity.member(name).map(|_| name)
    }

    /// What a record must fulfill to be found, and still fulfill when it was written.
    pub fn guard(&self) -> Option<&Predicate> {
        self.guard.as_ref()
    }

    /// The id as it stands in a URL, before it is encoded for one.
    pub fn id_text(&self, id: &Value) -> String {
        let field = self.entity().field(self.id);
        let mut text = Vec::new();
        crate::shape::write_text(&mut text, field.ty, field.time_form, id.as_ref());
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The failure of a write whose record is not there.
    pub fn not_found(&self, id: &Value) -> WriteError {
        WriteError::NotFound { entity: self.key().to_owned(), id: self.id_text(id) }
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("entity", &self.key()).field("guard", &self.guard).finish()
    }
}

/// The other end of a relation that is written.
#[derive(Clone, Debug)]
pub struct RelatedRecord {
    /// The relation's ref.
    pub relation: String,
    /// The entity that it leads to.
    pub subject: Subject,
    /// Where the link is stored.
    pub key: LinkKey,
}

/// Where the link between two records is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKey {
    /// In the record that the path names: its columns refer to the other record.
    InSubject(KeyColumns),
    /// In the other record: its columns refer to the one that the path names.
    InRelated(KeyColumns),
    /// In a junction table.
    Junction {
        /// The junction table.
        table: TableName,
        /// The junction's column that holds the key of the record that the path names.
        from: String,
        /// The junction's column that holds the other record's key.
        to: String,
        /// The column that `from` refers to.
        parent: String,
        /// The column that `to` refers to.
        target: String,
    },
}

/// The columns of a link that is stored in one of the two records; in each pair `parent` is a column of the
/// record that the path names, `target` one of the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyColumns {
    /// Pairs of which one side is set to make a link, and emptied to end it.
    pub set: Vec<ColumnPair>,
    /// Pairs that must be equal for two records to be linked, and that no write changes.
    pub same: Vec<ColumnPair>,
}

impl KeyColumns {
    /// All pairs.
    pub fn all(&self) -> impl Iterator<Item = &ColumnPair> {
        self.set.iter().chain(&self.same)
    }
}

/// What a mutator has done.
#[derive(Clone, Debug, Default)]
pub struct WriteOutcome {
    /// The id of the record that the reply shows: the created, the updated, or the connected one.
    pub id: Value,
    /// The reply's body, read inside the transaction that wrote; where it is left out and there is to be one,
    /// the resolver of the entity is asked for it afterwards.
    pub body: Option<JsonBody>,
}

impl WriteOutcome {
    /// The outcome of a write whose record has that id.
    pub fn new(id: impl Into<Value>) -> Self {
        Self { id: id.into(), body: None }
    }
}

/// Carries out writes. Implemented by back ends, and by every function or closure of the form
/// `async fn(Mutation, Context) -> Result<WriteOutcome, WriteError>`.
///
/// A write is done wholly or not at all, and is durable when the future is ready. Dropping the future may
/// come before or after the moment at which nothing can stop it any more.
pub trait Mutator: Send + Sync + 'static {
    /// Carries out a write.
    ///
    /// # Errors
    /// [`WriteError::NotFound`] where a record is missing that the write needs, [`WriteError::Conflict`]
    /// where a rule of the storage forbids it, and whatever else goes wrong.
    fn mutate(&self, mutation: Mutation, context: Context)
    -> BoxFuture<'_, Result<WriteOutcome, WriteError>>;
}

impl<F, Fut> Mutator for F
where
    F: Fn(Mutation, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<WriteOutcome, WriteError>> + Send + 'static,
{
    fn mutate(
        &self,
        mutation: Mutation,
        context: Context,
    ) -> BoxFuture<'_, Result<WriteOutcome, WriteError>> {
        Box::pin(self(mutation, context))
    }
}

/// The mutators of a [`crate::Mesh`]: one by entity key, and one for all entities without their own.
#[derive(Clone, Default)]
pub(crate) struct Mutators {
    pub(crate) by_entity: HashMap<String, Arc<dyn Mutator>>,
    pub(crate) fallback: Option<Arc<dyn Mutator>>,
}

impl Mutators {
    pub(crate) fn find(&self, entity: &str) -> Option<&Arc<dyn Mutator>> {
        self.by_entity.get(entity).or(self.fallback.as_ref())
    }
}

impl fmt::Debug for Mutators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutators")
            .field("by_entity", &self.by_entity.keys())
            .field("fallback", &self.fallback.is_some())
            .finish()
    }
}
