//! Does a write fit the schema, and what does it come to? `SPEC §11`

mod key;
#[cfg(test)]
pub(crate) mod tests;
mod value;

use std::sync::Arc;

use mesh_schema::{Cardinality, Entity, Link, Member, Relation, Schema};

use super::{At, find_entity, guard, literal, nearest};
use crate::mutation::{Action, Assignment, Fields, LinkKey, RelatedRecord, Subject};
use crate::policy::View;
use crate::{Error, PlanError, PlanErrorKind, Principal, Value, WriteError, WriteFault};

/// A write as it was asked for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteRequest<'a> {
    /// What is written.
    pub target: WriteTarget<'a>,
    /// The members of the body; none where there is no body.
    pub fields: Option<&'a Fields>,
    /// The query that shapes the reply; all scalar fields where there is none.
    pub shape: Option<(mesh_ql::Format, &'a str)>,
    /// Fields that the server sets by itself, whether clients may write them or not.
    pub set: &'a [(&'a str, Value)],
    /// Who writes: what policies go by. Without it they take the request for anybody's.
    pub principal: Option<&'a Principal>,
}

/// What a write is aimed at: the path and method of its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the parts of the path, each by its own name")]
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
    /// The entity key of the path.
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
    /// A write without body and without a shape of its own.
    pub fn new(target: WriteTarget<'a>) -> Self {
        Self { target, fields: None, shape: None, set: &[], principal: None }
    }

    /// The same with the members of a body.
    pub fn with_fields(mut self, fields: &'a Fields) -> Self {
        self.fields = Some(fields);
        self
    }

    /// The same with a query that shapes the reply.
    pub fn shaped(mut self, format: mesh_ql::Format, text: &'a str) -> Self {
        self.shape = Some((format, text));
        self
    }

    /// The same on behalf of somebody.
    pub fn by(mut self, principal: Option<&'a Principal>) -> Self {
        self.principal = principal;
        self
    }

    /// The same with fields that the server sets by itself: a key of a stored file, or who wrote it. Then the
    /// entity need not be writable otherwise.
    pub fn setting(mut self, set: &'a [(&'a str, Value)]) -> Self {
        self.set = set;
        self
    }
}

/// Plans a write: whose record, and what is done to it.
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
        self.subject_of(find_entity(self.schema, key)?)
    }

    fn subject_of(&self, entity: mesh_schema::EntityId) -> Result<Subject, PlanError> {
        let found = self.schema.entity(entity);
        let id = found.id.ok_or_else(|| error(found, PlanErrorKind::NoId { entity: found.key.clone() }))?;
        let guard = guard::bound(self.view, entity, self.principal)?;
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

    /// The relation of that ref, which must be of the kind that the method is for.
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
        let key = key::of(entity, relation, other.entity());
        Ok(RelatedRecord { relation: relation.name.clone(), subject: other, key })
    }

    /// The values of the body, and those that the server sets.
    fn values(&self, subject: &Subject, under: Option<&RelatedRecord>) -> Result<Vec<Assignment>, PlanError> {
        let entity = subject.entity();
        let at = At { entity, path: &entity.key };
        let mut values = Vec::new();
        for (name, text) in self.fields.iter() {
            let field = match entity.member(name) {
                Some(Member::Field(id)) => entity.field(id),
                Some(Member::Relation(_)) => {
                    return Err(at.error(WriteFault::RelationWritten {
                        entity: entity.key.clone(),
                        relation: name.to_owned(),
                    }));
                }
                Some(Member::Computed(_)) => {
                    return Err(at.error(WriteFault::ComputedWritten { field: name.to_owned() }));
                }
                None => return Err(at.unknown(name)),
            };
            if let Some(other) = under.filter(|other| other.sets(&field.column)) {
                return Err(at.error(WriteFault::LinkWritten {
                    field: name.to_owned(),
                    relation: other.relation.clone(),
                }));
            }
            if !field.writable {
                return Err(not_writable(entity, name));
            }
            let value = value::of(field, text).map_err(|(ty, found)| {
                at.error(PlanErrorKind::Literal { field: name.to_owned(), ty, found })
            })?;
            values.push(Assignment { field: name.to_owned(), column: field.column.clone(), value });
        }
        if self.set.is_empty() {
            check_entity(entity)?;
        }
        for (name, value) in self.set {
            // The server's own doing is not a matter of what this caller sees; but nobody uploads what a
            // policy lets them not write.
            let whole = self.view.whole.entity(subject.entity);
            let Some(Member::Field(id)) = whole.member(name) else { return Err(at.unknown(name)) };
            if whole.field(id).upload.is_some() && entity.field(id).upload.is_none() {
                let is_seen = entity.member(name).is_some();
                return Err(if is_seen { not_writable(entity, name) } else { at.unknown(name) });
            }
            values.retain(|there| there.field != *name);
            let column = entity.field(id).column.clone();
            values.push(Assignment { field: (*name).to_owned(), column, value: value.clone() });
        }
        Ok(values)
    }

    /// The body `{entityId}`.
    fn entity_id(&self, other: &RelatedRecord) -> Result<String, PlanError> {
        let refused = |found: String| {
            let kind = WriteFault::EntityId { relation: other.relation.clone(), found };
            PlanError { kind: kind.into(), path: String::new() }
        };
        let mut id = None;
        for (name, text) in self.fields.iter() {
            if name != "entityId" {
                return Err(refused(format!("the member '{name}'")));
            }
            id = Some(value::id_text(text).ok_or_else(|| refused(value::described(text)))?);
        }
        id.ok_or_else(|| refused("nothing".to_owned()))
    }
}

impl RelatedRecord {
    /// Whether the link is stored in that column of the other record.
    fn sets(&self, column: &str) -> bool {
        match &self.key {
            LinkKey::InRelated(key) => key.all().any(|pair| pair.target == column),
            LinkKey::InSubject(_) | LinkKey::Junction { .. } => false,
        }
    }
}

/// The id as a value; an id that no record can have is not found at once.
fn found(subject: &Subject, text: &str) -> Result<Value, Error> {
    let field = subject.entity().field(subject.id);
    literal::id(field.ty, field.time_form, text)
        .ok_or_else(|| WriteError::NotFound { entity: subject.key().to_owned(), id: text.to_owned() }.into())
}

/// An entity of which no field is writable takes no writes at all.
fn check_entity(entity: &Entity) -> Result<(), PlanError> {
    if entity.fields.iter().any(|field| field.writable) {
        return Ok(());
    }
    Err(error(entity, WriteFault::EntityNotWritable { entity: entity.key.clone() }))
}

/// A link is written where it is stored: a column that is a field has to be writable, else the entity; of a
/// junction the entity of the path.
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
            // A name that a policy hides is not told.
            return Err(error(entity, WriteFault::LinkNotWritable { relation: other.relation.clone() }));
        }
    }
    check_entity(entity)
}

fn error(entity: &Entity, kind: impl Into<PlanErrorKind>) -> PlanError {
    PlanError { kind: kind.into(), path: entity.key.clone() }
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
