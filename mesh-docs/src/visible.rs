//! The allowlist of entities. Other entities do not exist for the surface.
//!
//! A query that names a hidden entity, or a relation to one, is refused with the message for unknown names, so that
//! errors do not reveal hidden entities.

use std::collections::HashSet;
use std::sync::Arc;

use mesh_plan::error::PlanErrorKind;
use mesh_plan::{Error, Mesh, PlanError};
use mesh_ql::{Filter, Name, OrderKey, Query, ReadNode, Selection};
use mesh_schema::{Entity, EntityId, Member, Relation, Schema};

use crate::members;

/// The part of a schema that is visible on the surface.
#[derive(Clone, Debug)]
pub(crate) struct Visible {
    schema: Arc<Schema>,
    /// `None` permits all entities.
    allowed: Option<HashSet<EntityId>>,
}

impl Visible {
    pub(crate) fn new(mesh: &Mesh, names: Option<&[String]>) -> Self {
        let schema = Arc::clone(mesh.schema());
        let allowed = names.map(|names| names.iter().filter_map(|name| schema.find(name)).collect());
        Self { schema, allowed }
    }

    /// Returns the visible entities of a schema, sorted by name. Entities hidden by policies have no name in it.
    pub(crate) fn entities<'s>(&self, schema: &'s Schema) -> Vec<&'s Entity> {
        let shown =
            schema.entities().filter(|(id, entity)| self.shows(*id) && schema.find(&entity.key).is_some());
        let mut shown: Vec<_> = shown.map(|(_, entity)| entity).collect();
        shown.sort_by(|one, other| one.key.cmp(&other.key));
        shown
    }

    /// Returns the visible relations of an entity with their targets, sorted by name.
    pub(crate) fn relations<'s>(
        &self,
        schema: &'s Schema,
        entity: &'s Entity,
    ) -> Vec<(&'s Relation, &'s Entity)> {
        let shown = members::relations(entity).filter(|relation| self.shows(relation.target));
        let mut shown: Vec<_> = shown.map(|relation| (relation, schema.entity(relation.target))).collect();
        shown.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        shown
    }

    fn shows(&self, id: EntityId) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&id))
    }

    /// Returns whether a name is a relation to a hidden entity.
    fn hides(&self, entity: &Entity, name: &str) -> bool {
        match entity.member(name) {
            Some(Member::Relation(id)) => !self.shows(entity.relation(id).target),
            _ => false,
        }
    }

    /// Refuses queries that name hidden entities, or relations to them.
    pub(crate) fn check(&self, query: &Query) -> Result<(), Error> {
        // The planner refuses unknown roots.
        let Some(root) = self.schema.find(&query.entity) else { return Ok(()) };
        if !self.shows(root) {
            let kind = PlanErrorKind::UnknownEntity { entity: query.entity.value.clone(), nearest: None };
            return Err(Error::Plan(PlanError::new(kind, "").with_span(query.entity.span)));
        }
        self.check_node(self.schema.entity(root), &query.root, &query.entity)
    }

    /// Checks a node and its relations. Recursion is bounded by the depth of queries.
    fn check_node(&self, entity: &Entity, node: &ReadNode, path: &str) -> Result<(), Error> {
        for selection in &node.select {
            let name = selection.name();
            let target = self.check_relation(entity, name, name, path)?;
            if let (Selection::Relation { node: below, .. }, Some(target)) = (selection, target) {
                self.check_node(target, below, &format!("{path}.{name}"))?;
            }
        }
        if let Some(filter) = &node.controls.filter {
            self.check_filter(entity, filter, path)?;
        }
        for order in node.controls.order.iter() {
            match &order.key {
                OrderKey::Subject(subject) => self.check_path(entity, subject.name(), path)?,
                OrderKey::Relation { relation, .. } => {
                    self.check_relation(entity, relation, relation, path)?;
                }
                OrderKey::Search { .. } => {}
            }
        }
        Ok(())
    }

    /// Checks a filter. Recursion is bounded by the depth of filters.
    fn check_filter(&self, entity: &Entity, filter: &Filter, path: &str) -> Result<(), Error> {
        match filter {
            Filter::And(all) | Filter::Or(all) => {
                all.iter().try_for_each(|filter| self.check_filter(entity, filter, path))
            }
            Filter::Not(filter) => self.check_filter(entity, filter, path),
            Filter::Condition(condition) => self.check_path(entity, condition.subject.name(), path),
            Filter::Relation(condition) => {
                let relation = &condition.relation;
                match (self.check_relation(entity, relation, relation, path)?, &condition.filter) {
                    (Some(target), Some(filter)) => {
                        self.check_filter(target, filter, &format!("{path}.{relation}"))
                    }
                    _ => Ok(()),
                }
            }
            Filter::Search(_) => Ok(()),
        }
    }

    /// Checks the relations of a path to a field.
    fn check_path<'e>(&'e self, mut entity: &'e Entity, whole: &Name, path: &str) -> Result<(), Error> {
        for step in whole.split('.') {
            let Some(target) = self.check_relation(entity, step, whole, path)? else { break };
            entity = target;
        }
        Ok(())
    }

    /// Returns the target of a relation that the query names in `whole`; `None` for other names.
    fn check_relation(
        &self,
        entity: &Entity,
        name: &str,
        whole: &Name,
        path: &str,
    ) -> Result<Option<&Entity>, Error> {
        if self.hides(entity, name) {
            let error = PlanError::new(unknown(&entity.key, name), path);
            return Err(Error::Plan(error.with_span(whole.span)));
        }
        Ok(match entity.member(name) {
            Some(Member::Relation(id)) => Some(self.schema.entity(entity.relation(id).target)),
            _ => None,
        })
    }

    /// Removes hidden names from an error of the planner: hints, and relations in controls.
    pub(crate) fn redact(&self, error: Error) -> Error {
        let Error::Plan(mut error) = error else { return error };
        let hidden = |entity: &str, name: &str| {
            let entity = self.schema.find(entity).map(|id| self.schema.entity(id));
            entity.is_some_and(|entity| self.hides(entity, name))
        };
        error.kind = match error.kind {
            PlanErrorKind::UnknownEntity { entity, nearest } => {
                let shown = |name: &String| self.schema.find(name).is_some_and(|id| self.shows(id));
                PlanErrorKind::UnknownEntity { entity, nearest: nearest.filter(shown) }
            }
            PlanErrorKind::UnknownField { entity, field, nearest } => {
                let nearest = nearest.filter(|name| !hidden(&entity, name));
                PlanErrorKind::UnknownField { entity, field, nearest }
            }
            PlanErrorKind::RelationAsField { entity, relation, .. } if hidden(&entity, &relation) => {
                unknown(&entity, &relation)
            }
            other => other,
        };
        Error::Plan(error)
    }
}

fn unknown(entity: &str, field: &str) -> PlanErrorKind {
    PlanErrorKind::UnknownField { entity: entity.to_owned(), field: field.to_owned(), nearest: None }
}
