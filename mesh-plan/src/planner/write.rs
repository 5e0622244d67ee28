//! Planning of writes: checks a request against the schema. `SPEC §11`

mod link;
#[cfg(test)]
pub(crate) mod tests;
mod value;

use std::sync::Arc;

use mesh_schema::{Cardinality, Entity, Link, Member, Relation, Schema};

use super::context::{NodeContext, nearest};
use super::{find_entity, literal, policy_filter};
use crate::mutation::{Action, Assignment, Fields, LinkKey, RelatedRecord, Subject};
use crate::policy::View;
use crate::{Error, PlanError, PlanErrorKind, Principal, QuerySource, Value, WriteError, WriteFault};

/// The request of a write.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteRequest<'a> {
    /// The record or the relation that is written.
    pub target: WriteTarget<'a>,
    /// The members of the body; `None` without a body.
    pub fields: Option<&'a Fields>,
    /// The query that shapes the reply; without one the reply has all scalar fields.
    pub reply: Option<QuerySource<'a>>,
    /// Fields that the server sets, whether clients may write them or not.
    pub set: &'a [(&'a str, Value)],
    /// The principal that policies are applied to; without one the request counts as anonymous.
    pub principal: Option<&'a Principal>,
}

/// The path and method of a write's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the parts of the path by their names")]
pub enum WriteTarget<'a> {
    /// `POST {base}/:entity`
    Create { entity: &'a str },
    /// `PUT {base}/:entity/:id`
    Update { entity: &'a str, id: &'a str },
    /// `DELETE {base}/:entity/:id`
    Delete { entity: &'a str, id: &'a str },
    /// `POST {base}/:entity/:id/:relation`
    Attach { entity: &'a str, id: &'a str, relation: &'a str },
    /// `PUT {base}/:entity/:id/:relation`
    Connect { entity: &'a str, id: &'a str, relation: &'a str },
    /// `DELETE {base}/:entity/:id/:relation`
    Disconnect { entity: &'a str, id: &'a str, relation: &'a str },
    /// `DELETE {base}/:entity/:id/:relation/:childId`
    Remove { entity: &'a str, id: &'a str, relation: &'a str, child: &'a str },
}

impl<'a> WriteTarget<'a> {
    /// Returns the entity key of the path.
    pub fn entity(&self) -> &'a str {
        match self {
            Self::Create { entity }
            | Self::Update { entity, .. }
            | Self::Delete { entity, .. }
            | Self::Attach { entity, .. }
            | Self::Connect { entity, .. }
            | Self::Disconnect { entity, .. }
            | Self::Remove { entity, .. } => entity,
        }
    }
}

impl<'a> WriteRequest<'a> {
    /// A write without body, whose reply has all scalar fields.
    pub fn new(target: WriteTarget<'a>) -> Self {
        Self { target, fields: None, reply: None, set: &[], principal: None }
    }

    /// Sets the members of the body.
    #[must_use]
    pub fn with_fields(self, fields: &'a Fields) -> Self {
        Self { fields: Some(fields), ..self }
    }

    /// Sets the query that shapes the reply, as `(format, text)` or parsed.
    #[must_use]
    pub fn with_reply(self, query: impl Into<QuerySource<'a>>) -> Self {
        Self { reply: Some(query.into()), ..self }
    }

    /// Sets the principal that policies are applied to.
    #[must_use]
    pub fn with_principal(self, principal: Option<&'a Principal>) -> Self {
        Self { principal, ..self }
    }

    /// Sets fields that the server writes, such as the key of a stored file. With them the entity need not be
    /// writable otherwise.
    #[must_use]
    pub fn with_server_values(self, set: &'a [(&'a str, Value)]) -> Self {
        Self { set, ..self }
    }
}

/// Plans a write. Returns the entity and the action on a record of it.
pub(crate) fn plan(view: &View, request: &WriteRequest<'_>) -> Result<(Subject, Action), Error> {
    let empty = Fields::default();
    let planner = WritePlanner {
        view,
        principal: request.principal,
        schema: &view.schema,
        fields: request.fields.unwrap_or(&empty),
        set: request.set,
    };
    let subject = planner.subject(request.target.entity())?;
    let action = match request.target {
        WriteTarget::Create { .. } => Action::Create { values: planner.values(&subject, None)? },
        WriteTarget::Update { id, .. } => {
            let values = planner.values(&subject, None)?;
            Action::Update { id: found(&subject, id)?, values }
        }
        WriteTarget::Delete { id, .. } => {
            check_entity(subject.entity())?;
            Action::Delete { id: found(&subject, id)? }
        }
        WriteTarget::Attach { id, relation, .. } => planner.attach(&subject, id, relation)?,
        WriteTarget::Connect { id, relation, .. } => {
            let other = planner.other(&subject, relation, Cardinality::One)?;
            check_link(&subject, &other)?;
            let to = planner.entity_id(&other)?;
            Action::Connect { id: found(&subject, id)?, to: found(&other.subject, &to)?, other }
        }
        WriteTarget::Disconnect { id, relation, .. } => {
            let other = planner.other(&subject, relation, Cardinality::One)?;
            check_link(&subject, &other)?;
            Action::Disconnect { id: found(&subject, id)?, other }
        }
        WriteTarget::Remove { id, relation, child, .. } => {
            let other = planner.other(&subject, relation, Cardinality::Many)?;
            match &other.key {
                LinkKey::Junction { .. } => check_link(&subject, &other)?,
                LinkKey::InSubject(_) | LinkKey::InRelated(_) => check_entity(other.subject.entity())?,
            }
            Action::Remove { id: found(&subject, id)?, child: found(&other.subject, child)?, other }
        }
    };
    Ok((subject, action))
}

struct WritePlanner<'a> {
    view: &'a View,
    principal: Option<&'a Principal>,
    schema: &'a Arc<Schema>,
    fields: &'a Fields,
    set: &'a [(&'a str, Value)],
}

impl WritePlanner<'_> {
    fn subject(&self, key: &str) -> Result<Subject, PlanError> {
        self.subject_of(find_entity(self.schema, key, None)?)
    }

    fn subject_of(&self, entity: mesh_schema::EntityId) -> Result<Subject, PlanError> {
        let found = self.schema.entity(entity);
        let id = found.id.ok_or_else(|| error(found, PlanErrorKind::NoId { entity: found.key.clone() }))?;
        let guard = policy_filter::bound(self.view, entity, self.principal)?;
        Ok(Subject { schema: Arc::clone(self.schema), entity, id, guard })
    }

    fn attach(&self, subject: &Subject, id: &str, relation: &str) -> Result<Action, Error> {
        let other = self.other(subject, relation, Cardinality::Many)?;
        if let LinkKey::Junction { .. } = other.key {
            check_link(subject, &other)?;
            let to = self.entity_id(&other)?;
            return Ok(Action::Link { id: found(subject, id)?, to: found(&other.subject, &to)?, other });
        }
        let values = self.values(&other.subject, Some(&other))?;
        Ok(Action::CreateChild { id: found(subject, id)?, other, values })
    }

    /// Finds the relation with that name, which must have the cardinality that the method is for.
    fn other(
        &self,
        subject: &Subject,
        name: &str,
        cardinality: Cardinality,
    ) -> Result<RelatedRecord, PlanError> {
        let entity = subject.entity();
        let relation = match entity.member(name) {
            Some(Member::Relation(id)) => entity.relation(id),
            Some(Member::Field(_) | Member::Computed(_)) => {
                let kind = WriteFault::NotARelation { entity: entity.key.clone(), name: name.to_owned() };
                return Err(error(entity, kind));
            }
            None => return Err(unknown_relation(entity, name)),
        };
        if relation.cardinality != cardinality {
            let kind = WriteFault::WrongCardinality {
                relation: name.to_owned(),
                many: relation.cardinality == Cardinality::Many,
                junction: matches!(relation.link, Link::Through { .. }),
            };
            return Err(error(entity, kind));
        }
        let other = self.subject_of(relation.target)?;
        let key = link::stored_key(entity, relation, other.entity());
        Ok(RelatedRecord { relation: relation.name.clone(), subject: other, key })
    }

    /// Checks the values of the body and those that the server sets.
    fn values(&self, subject: &Subject, under: Option<&RelatedRecord>) -> Result<Vec<Assignment>, PlanError> {
        let entity = subject.entity();
        let context = NodeContext { entity, path: &entity.key };
        let mut values = Vec::new();
        for (name, text) in self.fields.iter() {
            let field = match entity.member(name) {
                Some(Member::Field(id)) => entity.field(id),
                Some(Member::Relation(_)) => {
                    let (entity, relation) = (entity.key.clone(), name.to_owned());
                    return Err(context.error(None, WriteFault::RelationWritten { entity, relation }));
                }
                Some(Member::Computed(_)) => {
                    return Err(context.error(None, WriteFault::ComputedWritten { field: name.to_owned() }));
                }
                None => return Err(context.unknown_field(name, None)),
            };
            if let Some(other) = under.filter(|other| other.sets(&field.column)) {
                let (field, relation) = (name.to_owned(), other.relation.clone());
                return Err(context.error(None, WriteFault::LinkWritten { field, relation }));
            }
            if !field.writable {
                return Err(not_writable(entity, name));
            }
            let value = value::parse(field, text).map_err(|(ty, found)| {
                context.error(None, PlanErrorKind::Literal { field: name.to_owned(), ty, found })
            })?;
            values.push(Assignment { field: name.to_owned(), column: field.column.clone(), value });
        }
        if self.set.is_empty() {
            check_entity(entity)?;
        }
        for (name, value) in self.set {
            // The server may set fields that the caller does not see, but a caller uploads only what policies let
            // them write.
            let whole = self.view.whole.entity(subject.entity);
            let Some(Member::Field(id)) = whole.member(name) else {
                return Err(context.unknown_field(name, None));
            };
            if whole.field(id).upload.is_some() && entity.field(id).upload.is_none() {
                let is_seen = entity.member(name).is_some();
                return Err(if is_seen {
                    not_writable(entity, name)
                } else {
                    context.unknown_field(name, None)
                });
            }
            values.retain(|other| other.field != *name);
            let column = entity.field(id).column.clone();
            values.push(Assignment { field: (*name).to_owned(), column, value: value.clone() });
        }
        Ok(values)
    }

    /// Returns the id in the body `{entityId}`.
    fn entity_id(&self, other: &RelatedRecord) -> Result<String, PlanError> {
        let refused = |found: String| {
            let kind = WriteFault::EntityId { relation: other.relation.clone(), found };
            PlanError::new(kind, "")
        };
        let mut id = None;
        for (name, text) in self.fields.iter() {
            if name != "entityId" {
                return Err(refused(format!("the member '{name}'")));
            }
            id = Some(value::id_text(text).ok_or_else(|| refused(value::describe(text)))?);
        }
        id.ok_or_else(|| refused("nothing".to_owned()))
    }
}

impl RelatedRecord {
    /// Returns whether the link is stored in that column of the other record.
    fn sets(&self, column: &str) -> bool {
        match &self.key {
            LinkKey::InRelated(key) => key.all().any(|pair| pair.target == column),
            LinkKey::InSubject(_) | LinkKey::Junction { .. } => false,
        }
    }
}

/// Converts an id to a value. An id that no record can have is not found.
fn found(subject: &Subject, text: &str) -> Result<Value, Error> {
    let field = subject.entity().field(subject.id);
    literal::id(field.ty, field.time_form, text)
        .ok_or_else(|| WriteError::NotFound { entity: subject.key().to_owned(), id: text.to_owned() }.into())
}

/// Refuses writes of an entity that has no writable field.
fn check_entity(entity: &Entity) -> Result<(), PlanError> {
    if entity.fields.iter().any(|field| field.writable) {
        return Ok(());
    }
    Err(error(entity, WriteFault::EntityNotWritable { entity: entity.key.clone() }))
}

/// Checks that the columns that store a link are writable if they are fields, and the entity that has them. The
/// link of a junction counts as part of the entity of the path.
fn check_link(subject: &Subject, other: &RelatedRecord) -> Result<(), PlanError> {
    let (entity, columns): (_, Vec<&String>) = match &other.key {
        LinkKey::InSubject(key) => (subject.entity(), key.set.iter().map(|pair| &pair.parent).collect()),
        LinkKey::InRelated(key) => {
            (other.subject.entity(), key.set.iter().map(|pair| &pair.target).collect())
        }
        LinkKey::Junction { .. } => (subject.entity(), Vec::new()),
    };
    for field in columns.into_iter().filter_map(|column| entity.field_of_column(column)) {
        let field = entity.field(field);
        if !field.writable && entity.member(&field.name).is_some() {
            return Err(not_writable(entity, &field.name));
        }
        if !field.writable {
            // The name of the field is hidden by a policy.
            return Err(error(entity, WriteFault::LinkNotWritable { relation: other.relation.clone() }));
        }
    }
    check_entity(entity)
}

fn error(entity: &Entity, kind: impl Into<PlanErrorKind>) -> PlanError {
    PlanError::new(kind, entity.key.as_str())
}

fn not_writable(entity: &Entity, field: &str) -> PlanError {
    error(entity, WriteFault::NotWritable { entity: entity.key.clone(), field: field.to_owned() })
}

fn unknown_relation(entity: &Entity, name: &str) -> PlanError {
    let names = entity.relations.iter().map(|Relation { name, .. }| name.as_str());
    let names = names.filter(|name| entity.member(name).is_some());
    let kind = WriteFault::UnknownRelation {
        entity: entity.key.clone(),
        relation: name.to_owned(),
        nearest: nearest(name, names),
    };
    error(entity, kind)
}
