//! Planning of writes, checked against the schema. `SPEC §11`

mod check;
pub(crate) mod column_limits;
mod create;
pub(crate) mod empty;
mod link;
mod members;
mod merge;
pub(crate) mod preset;
mod reference;
mod rights;
#[cfg(test)]
pub(crate) mod tests;
mod value;

use std::sync::Arc;

use mesh_ql::ParamValues;
use mesh_schema::{Cardinality, Entity, EntityId, Field, Link, Member};

pub(crate) use self::check::check;
pub(crate) use self::create::CreatePlanner;
use self::members::MemberFields;
pub(crate) use self::reference::References;
pub(crate) use self::rights::WriteKind;
use self::rights::not_writable;
use super::context::{NodeContext, nearest};
use super::{columns, find_entity, literal, policy_condition};
use crate::error::{FieldFault, PlanErrorKind, WriteFault};
use crate::mutation::{Action, Assignment, Fields, GuardedEntity, LinkLocation, Reference, RelatedRecord};
use crate::plan::QuerySource;
use crate::policy::{RecordUse, View};
use crate::{Error, Key, PlanError, Principal, RecordId, Value, WriteError};

/// The request of a write.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteRequest<'a> {
    /// The record or the relation that is written.
    pub target: WriteTarget<'a>,
    /// The members of the body; `None` without a body.
    pub fields: Option<&'a Fields<'a>>,
    /// The query that shapes the reply; without one the reply has all scalar fields.
    pub reply: Option<QuerySource<'a>>,
    /// The values of the parameters of that query.
    pub reply_params: Option<&'a ParamValues>,
    /// Fields that the server sets, even if clients cannot write them.
    pub set: &'a [(&'a str, Value)],
    /// The principal that policies apply to. Without a principal, the request is anonymous.
    pub principal: Option<&'a Principal>,
}

/// The path and method of a write's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the parts of the path by their names")]
pub enum WriteTarget<'a> {
    /// `POST {base}/:entity`
    Create { entity: &'a str },
    /// `PUT {base}/:entity/:id`
    Update { entity: &'a str, id: RecordId<'a> },
    /// `PUT {base}/:entity/:id` with `Prefer: resolution=merge-duplicates`
    Merge { entity: &'a str, id: RecordId<'a> },
    /// `DELETE {base}/:entity/:id`
    Delete { entity: &'a str, id: RecordId<'a> },
    /// `POST {base}/:entity/:id/:relation`
    Attach { entity: &'a str, id: RecordId<'a>, relation: &'a str },
    /// `PUT {base}/:entity/:id/:relation`
    Connect { entity: &'a str, id: RecordId<'a>, relation: &'a str },
    /// `DELETE {base}/:entity/:id/:relation`
    Disconnect { entity: &'a str, id: RecordId<'a>, relation: &'a str },
    /// `DELETE {base}/:entity/:id/:relation/:childId`
    Remove { entity: &'a str, id: RecordId<'a>, relation: &'a str, child: RecordId<'a> },
}

impl<'a> WriteTarget<'a> {
    fn entity(&self) -> &'a str {
        match self {
            Self::Create { entity }
            | Self::Update { entity, .. }
            | Self::Merge { entity, .. }
            | Self::Delete { entity, .. }
            | Self::Attach { entity, .. }
            | Self::Connect { entity, .. }
            | Self::Disconnect { entity, .. }
            | Self::Remove { entity, .. } => entity,
        }
    }
}

impl<'a> WriteRequest<'a> {
    /// Creates a write without body, whose reply has all scalar fields.
    pub fn new(target: WriteTarget<'a>) -> Self {
        Self { target, fields: None, reply: None, reply_params: None, set: &[], principal: None }
    }

    /// Sets the members of the body.
    #[must_use]
    pub fn with_fields(self, fields: &'a Fields<'a>) -> Self {
        Self { fields: Some(fields), ..self }
    }

    /// Sets the query that shapes the reply, as `(format, text)` or parsed.
    #[must_use]
    pub fn with_reply(self, query: impl Into<QuerySource<'a>>) -> Self {
        Self { reply: Some(query.into()), ..self }
    }

    /// Sets the values of the parameters of the query that shapes the reply.
    #[must_use]
    pub fn with_reply_params(self, params: Option<&'a ParamValues>) -> Self {
        Self { reply_params: params, ..self }
    }

    /// Sets the principal that policies apply to.
    #[must_use]
    pub fn with_principal(self, principal: Option<&'a Principal>) -> Self {
        Self { principal, ..self }
    }

    /// Sets fields that the server writes, such as the key of a stored file. With these fields, the entity need not have
    /// fields that clients can write.
    #[must_use]
    pub fn with_server_values(self, set: &'a [(&'a str, Value)]) -> Self {
        Self { set, ..self }
    }
}

/// Plans a write. Returns the entity, the action on a record of it, and the records that its values refer to.
pub(crate) fn plan(
    view: &View,
    request: &WriteRequest<'_>,
) -> Result<(GuardedEntity, Action, Vec<Reference>), Error> {
    let planner = WritePlanner { view, request };
    let mut subject = planner.subject(find_entity(&view.schema, request.target.entity(), None)?)?;
    let mut references = Vec::new();
    let action = match request.target {
        WriteTarget::Create { .. } => {
            let values;
            (values, references) = planner.only_record(&mut subject, WriteKind::Create)?;
            Action::Create { values }
        }
        WriteTarget::Update { id, .. } => {
            let values;
            (values, references) = planner.only_record(&mut subject, WriteKind::Update)?;
            Action::Update { id: parse_id(&subject, id)?, values }
        }
        WriteTarget::Merge { id, .. } => {
            let id = parse_id(&subject, id)?;
            planner.merge(&mut subject, id)?
        }
        WriteTarget::Delete { id, .. } => {
            rights::check_delete(subject.entity())?;
            planner.guard(&mut subject, RecordUse::Delete, None)?;
            Action::Delete { id: parse_id(&subject, id)? }
        }
        WriteTarget::Attach { id, relation, .. } => {
            let mut other = planner.related(&subject, relation, Cardinality::Many)?;
            if let LinkLocation::Junction { .. } = other.link {
                planner.guard_link(&mut subject, &mut other)?;
                rights::check_junction(view, &subject, &other, WriteKind::Create)?;
                let to = planner.entity_id(&other)?;
                Action::AddPair {
                    id: parse_id(&subject, id)?,
                    to: parse_id(&other.subject, to.as_record_id())?,
                    other: Box::new(other),
                }
            } else {
                let values;
                (values, references) = planner.child(&mut subject, &mut other)?;
                Action::CreateChild { id: parse_id(&subject, id)?, other: Box::new(other), values }
            }
        }
        WriteTarget::Connect { id, relation, .. } => {
            let other = planner.linked(&mut subject, relation)?;
            let to = planner.entity_id(&other)?;
            Action::Connect {
                id: parse_id(&subject, id)?,
                to: parse_id(&other.subject, to.as_record_id())?,
                other: Box::new(other),
            }
        }
        WriteTarget::Disconnect { id, relation, .. } => {
            let other = planner.linked(&mut subject, relation)?;
            Action::Disconnect { id: parse_id(&subject, id)?, other: Box::new(other) }
        }
        WriteTarget::Remove { id, relation, child, .. } => {
            let mut other = planner.related(&subject, relation, Cardinality::Many)?;
            planner.guard_removal(&mut subject, &mut other)?;
            Action::Remove {
                id: parse_id(&subject, id)?,
                child: parse_id(&other.subject, child)?,
                other: Box::new(other),
            }
        }
    };
    Ok((subject, action, references))
}

struct WritePlanner<'a> {
    view: &'a View,
    request: &'a WriteRequest<'a>,
}

impl<'a> WritePlanner<'a> {
    fn subject(&self, id: EntityId) -> Result<GuardedEntity, PlanError> {
        let entity = self.view.schema.entity(id);
        if entity.id.is_empty() {
            return Err(error(entity, WriteFault::NoId { entity: entity.key.clone() }));
        }
        Ok(self.subject_without_id(id))
    }

    /// Returns an entity whose records are not written, so that they need no id.
    fn subject_without_id(&self, id: EntityId) -> GuardedEntity {
        GuardedEntity { schema: Arc::clone(&self.view.schema), entity: id, guard: None, check: None }
    }

    /// Checks that the caller may remove records of a to-many relation.
    fn guard_removal(&self, subject: &mut GuardedEntity, other: &mut RelatedRecord) -> Result<(), Error> {
        match &other.link {
            LinkLocation::Junction { .. } => {
                rights::check_junction(self.view, subject, other, WriteKind::Update)?;
                self.guard_link(subject, other)?;
            }
            LinkLocation::InParent(_) | LinkLocation::InRelated(_) => {
                rights::check_delete(other.subject.entity())?;
                self.guard(subject, RecordUse::Read, None)?;
                self.guard(&mut other.subject, RecordUse::Delete, None)?;
            }
        }
        Ok(())
    }

    /// Returns the values of the only record that is created or changed, and the records that they refer to.
    fn only_record(
        &self,
        subject: &mut GuardedEntity,
        kind: WriteKind,
    ) -> Result<(Vec<Assignment>, Vec<Reference>), Error> {
        self.guard_record(subject, kind)?;
        self.record(subject, None, kind, &mut MemberFields::new(subject.entity()))
    }

    /// Returns the values of a record that is created or changed, and the records that they refer to. A child is created at
    /// the other end of a relation of its `parent`.
    fn record(
        &self,
        subject: &GuardedEntity,
        parent: Option<&RelatedRecord>,
        kind: WriteKind,
        fields: &mut MemberFields<'_>,
    ) -> Result<(Vec<Assignment>, Vec<Reference>), Error> {
        let mut values = self.values(subject, parent, kind, fields)?;
        parent.map_or(Ok(()), rights::check_child_link)?;
        self.add_presets(subject, kind, &mut values)?;
        let references = self.references(subject, &values, kind)?;
        Ok((values, references))
    }

    /// Sets the conditions of policies on a record that is created or changed.
    fn guard_record(&self, subject: &mut GuardedEntity, kind: WriteKind) -> Result<(), PlanError> {
        match kind {
            WriteKind::Create => self.guard(subject, RecordUse::Read, Some(RecordUse::Created)),
            WriteKind::Update => self.guard(subject, RecordUse::Update, Some(RecordUse::Updated)),
        }
    }

    /// Sets the conditions of policies on a record: the conditions before the write, for this use, and the conditions after
    /// it.
    fn guard(
        &self,
        subject: &mut GuardedEntity,
        before: RecordUse,
        after: Option<RecordUse>,
    ) -> Result<(), PlanError> {
        let id = subject.entity;
        let bound =
            |condition| policy_condition::condition_node(self.view, id, condition, self.request.principal);
        let before = self.view.condition_of(id, before);
        subject.guard = before.map(bound).transpose()?;
        let after = after.and_then(|after| self.view.condition_of(id, after));
        subject.check = match (before, after) {
            (Some(before), Some(after)) if std::ptr::eq(before, after) => subject.guard.clone(),
            (_, after) => after.map(bound).transpose()?,
        };
        Ok(())
    }

    /// Finds the to-one relation with that name, and checks that the principal may write its link.
    fn linked(&self, subject: &mut GuardedEntity, name: &str) -> Result<RelatedRecord, PlanError> {
        let mut other = self.related(subject, name, Cardinality::One)?;
        rights::check_link(self.view, subject, &other)?;
        self.guard_link(subject, &mut other)?;
        Ok(other)
    }

    /// Returns the values of a new record at the other end of a relation, and the records that they refer to.
    fn child(
        &self,
        subject: &mut GuardedEntity,
        other: &mut RelatedRecord,
    ) -> Result<(Vec<Assignment>, Vec<Reference>), Error> {
        self.guard(subject, RecordUse::Read, None)?;
        self.guard(&mut other.subject, RecordUse::Read, Some(RecordUse::Created))?;
        let mut fields = MemberFields::new(other.subject.entity());
        self.record(&other.subject, Some(other), WriteKind::Create, &mut fields)
    }

    /// Sets the conditions on the two records of a link. The record that stores the link is updated. If a junction stores
    /// it, the record in the path counts as updated.
    fn guard_link(&self, subject: &mut GuardedEntity, other: &mut RelatedRecord) -> Result<(), PlanError> {
        let (updated, referred, after) = match &other.link {
            LinkLocation::InParent(_) => (subject, &mut other.subject, Some(RecordUse::Updated)),
            LinkLocation::InRelated(_) => (&mut other.subject, subject, Some(RecordUse::Updated)),
            LinkLocation::Junction { .. } => (subject, &mut other.subject, None),
        };
        self.guard(updated, RecordUse::Update, after)?;
        self.guard(referred, RecordUse::Read, None)
    }

    /// Finds the relation with that name, and checks that it has the cardinality that the method requires.
    fn related(
        &self,
        subject: &GuardedEntity,
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
            None => {
                let names = entity.relations.iter().map(|relation| relation.name.as_str());
                let nearest = nearest(name, names.filter(|name| entity.member(name).is_some()));
                let (entity_key, relation) = (entity.key.clone(), name.to_owned());
                return Err(error(
                    entity,
                    WriteFault::UnknownRelation { entity: entity_key, relation, nearest },
                ));
            }
        };
        if relation.cardinality != cardinality {
            let kind = WriteFault::WrongCardinality {
                relation: name.to_owned(),
                many: relation.cardinality == Cardinality::Many,
                junction: matches!(relation.link, Link::Through { .. }),
            };
            return Err(error(entity, kind));
        }
        let other = self.subject(relation.target)?;
        let link = LinkLocation::of_relation(entity, relation, other.entity());
        Ok(RelatedRecord { relation: relation.name.clone(), subject: other, link })
    }

    /// Returns the members of the body with their JSON text.
    fn members(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.request.fields.into_iter().flat_map(Fields::iter)
    }

    /// Checks the values of the body and the values that the server sets. The body must not set a child's link to its
    /// `parent`.
    fn values(
        &self,
        subject: &GuardedEntity,
        parent: Option<&RelatedRecord>,
        kind: WriteKind,
        fields: &mut MemberFields<'_>,
    ) -> Result<Vec<Assignment>, PlanError> {
        let entity = fields.entity();
        let context = NodeContext { entity, path: &entity.key };
        let (mut values, mut faults) = (Vec::new(), Vec::new());
        for (index, (name, text)) in self.members().enumerate() {
            let field = fields.find(index, name, |entity| self.member_field(entity, parent, kind, name));
            match field.and_then(|field| field.assigned(text)) {
                Ok(value) => values.push(value),
                Err(fault) => faults.push(FieldFault::new(name, fault)),
            }
        }
        if !faults.is_empty() {
            let has_value = |field: &Field| {
                let name = field.name.as_str();
                // A record that exists has values already.
                matches!(self.request.target, WriteTarget::Merge { .. })
                    || self.members().any(|(member, _)| member == name)
                    || self.request.set.iter().any(|(set, _)| *set == name)
                    || self.is_preset(subject, kind, name)
            };
            faults.extend(column_limits::faults(entity, &values));
            faults.extend(empty::faults(entity, kind, parent, &values, has_value));
            // Stable, so fields that are missing remain at the end.
            faults.sort_by_key(|fault| {
                self.members().position(|(name, _)| name == fault.field).unwrap_or(usize::MAX)
            });
            return Err(context.error(None, WriteFault::Fields(faults)));
        }
        if self.request.set.is_empty() {
            kind.check_entity(entity)?;
        }
        for (name, value) in self.request.set {
            // The server may set fields that policies hide, but it may set files only in fields that the principal may
            // upload to.
            let full_entity = self.view.full_schema.entity(subject.entity);
            let Some(Member::Field(id)) = full_entity.member(name) else {
                return Err(context.unknown_field(name, None));
            };
            if full_entity.field(id).upload.is_some() && kind.permits(entity.field(id).denied) {
                return Err(match entity.member(name) {
                    Some(_) => not_writable(entity, name),
                    None => context.unknown_field(name, None),
                });
            }
            values.retain(|other| *other.field != **name);
            let column = entity.field(id).column.as_str().into();
            values.push(Assignment { field: (*name).into(), column, value: value.clone() });
        }
        Ok(values)
    }
}

impl RelatedRecord {
    /// Returns whether the link is stored in that column of the other record.
    pub(crate) fn stores_link_in(&self, column: &str) -> bool {
        matches!(&self.link, LinkLocation::InRelated(key) if key.all().any(|pair| pair.target == column))
    }
}

/// Converts an id to a key. An id that no record can have gives the error of a missing record.
fn parse_id(subject: &GuardedEntity, id: RecordId<'_>) -> Result<Key, Error> {
    let entity = subject.entity();
    let columns: Vec<_> = entity.id.iter().map(|id| columns::from_field(entity, *id, false)).collect();
    let not_found =
        || WriteError::NotFound { entity: entity.key.clone(), id: id.to_text(columns.len()).into_owned() };
    literal::key(&columns, id).ok_or_else(|| not_found().into())
}

fn error(entity: &Entity, kind: impl Into<PlanErrorKind>) -> PlanError {
    PlanError::new(kind, entity.key.as_str())
}
