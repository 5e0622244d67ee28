//! Planning of related records in controls: relation conditions, paths, and orders by an aggregate. `SPEC §14.1`,
//! `SPEC §14.2`, `SPEC §14.3`

use mesh_ql::{Name, Quantifier, RelationCondition, Span};
use mesh_schema::{Cardinality, Entity, EntityId, Member, Relation, Schema};

use super::columns;
use super::comparable::{self, Comparable};
use super::context::{NodeContext, Scope};
use super::{Planner, filter, group, order, select};
use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::{Column, ColumnSource, Grouping, Node, Predicate, Related};

/// The largest number of relations in one path. `SPEC §14.9`
const PATH_HOPS_MAX: usize = 10;
/// The largest number of relations in all paths of a query. `SPEC §14.9`
const QUERY_HOPS_MAX: usize = 32;

impl Planner<'_> {
    /// Plans a condition on the records of a relation.
    pub(super) fn relation_condition(
        &mut self,
        scope: &mut Scope<'_>,
        condition: &RelationCondition,
    ) -> Result<Predicate, PlanError> {
        let relation = relation(scope.context, &condition.relation, condition.relation.span)?;
        let (entity, path) = (self.schema.entity(relation.target), scope.path_of(relation));
        let mut below = Scope::new(NodeContext { entity, path: &path });
        let requested = match &condition.filter {
            Some(tree) => Some(filter::plan(self, &mut below, tree, None)?),
            None => None,
        };
        let requested = match *condition.op {
            Quantifier::Every => requested.map(|filter| Predicate::NotTrue(Box::new(filter))),
            Quantifier::Some | Quantifier::None => requested,
        };
        let mut node = self.related_node(below, relation.target)?;
        let policy = node.filter.take();
        node.restrict(policy, requested);
        let related = scope.add(relation, entity, node);
        Ok(Predicate::Exists { related, negated: *condition.op != Quantifier::Some })
    }

    /// Finds the value at the end of a path through to-one relations.
    pub(super) fn path(
        &mut self,
        scope: &mut Scope<'_>,
        name: &Name,
        control: &'static str,
    ) -> Result<Comparable, PlanError> {
        self.hops += hops(name);
        if self.hops > QUERY_HOPS_MAX {
            let bound = QUERY_HOPS_MAX;
            return Err(scope.context.error(name.span, PlanErrorKind::TooManyHopsInQuery { bound }));
        }
        let schema = self.schema;
        let mut visible = |below: Scope<'_>, target| self.related_node(below, target);
        path(schema, scope, name, (name, control, ""), &mut visible)
    }

    /// Finds the value of an aggregate of a to-many relation.
    pub(super) fn relation_aggregate(
        &mut self,
        scope: &mut Scope<'_>,
        name: &Name,
        aggregate: &mesh_ql::Aggregate,
    ) -> Result<Comparable, PlanError> {
        let context = scope.context;
        let relation = relation(context, name, name.span)?;
        if relation.cardinality == Cardinality::One {
            let relation = relation.name.clone();
            return Err(context.error(name.span, PlanErrorKind::AggregateOfOne { relation }));
        }
        let (entity, path) = (self.schema.entity(relation.target), scope.path_of(relation));
        let below = Scope::new(NodeContext { entity, path: &path });
        let (aggregate, column) = group::aggregate(&below.context, aggregate, 0)?;
        let mut node = self.related_node(below, relation.target)?;
        let (ty, time_form) = (column.ty, column.time_form);
        let nullable = aggregate.function != mesh_ql::AggregateFn::Count;
        node.columns.push(column);
        node.grouping = Some(Grouping { keys: Vec::new(), aggregates: vec![aggregate], having: None });
        let related = scope.add(relation, entity, node);
        let source = ColumnSource::Related { related, column: 0 };
        let name = name.clone();
        Ok(Comparable { name, source, ty, stored: None, time_form, nullable, incomparable: false })
    }

    /// Returns the records of a relation that the principal may see, with the related records of their scope.
    fn related_node(&mut self, mut scope: Scope<'_>, target: EntityId) -> Result<Node, PlanError> {
        let policy = self.policy_filter(target, &mut scope)?;
        let mut node = Node::of_entity(scope.context.entity);
        (node.path, node.related) = (scope.context.path.to_owned(), scope.related);
        node.restrict(policy, None);
        Ok(node)
    }

    /// Completes a node and its related records with the columns that their controls use.
    pub(super) fn complete(&self, entity: &Entity, node: &mut Node) {
        for related in &mut node.related {
            // Policies may use hidden entities.
            if let Some(id) = self.view.full_schema.find(&related.node.entity) {
                self.complete(self.view.full_schema.entity(id), &mut related.node);
            }
        }
        node.control_columns = columns::of_controls(entity, node);
    }
}

/// Finds the value at the end of a path through to-one relations. `records` returns the records of a scope. Only paths with
/// the same `purpose` share them.
pub(super) fn path(
    schema: &Schema,
    scope: &mut Scope<'_>,
    path: &str,
    (whole, control, purpose): (&Name, &'static str, &'static str),
    records: &mut dyn FnMut(Scope<'_>, EntityId) -> Result<Node, PlanError>,
) -> Result<Comparable, PlanError> {
    let context = scope.context;
    if hops(whole) > PATH_HOPS_MAX {
        let bound = PATH_HOPS_MAX;
        return Err(context.error(whole.span, PlanErrorKind::TooManyHops { bound }));
    }
    let Some((step, rest)) = path.split_once('.') else {
        return comparable::field(context, path, whole, control);
    };
    let relation = relation(context, step, whole.span)?;
    if relation.cardinality == Cardinality::Many {
        let (path, relation) = (whole.value.clone(), relation.name.clone());
        return Err(context.error(whole.span, PlanErrorKind::PathThroughMany { path, relation }));
    }
    let (entity, node_path) = (schema.entity(relation.target), scope.path_of(relation));
    let mut below = Scope::new(NodeContext { entity, path: &node_path });
    // All paths through a relation use the same record.
    let name = format!("{step}${purpose}");
    let related = match scope.related.iter().position(|related| related.name == name) {
        Some(related) => related,
        None => {
            let mut node = records(Scope::new(below.context), relation.target)?;
            if !select::has_one_record(relation, entity) {
                node.order = order::tie_break_keys(entity);
            }
            let related = scope.add(relation, entity, node);
            if let Some(added) = scope.related.get_mut(related) {
                added.name = name;
            }
            related
        }
    };
    if let Some(node) = scope.related.get_mut(related).map(|related| &mut related.node) {
        below.related = std::mem::take(&mut node.related);
    }
    let found = self::path(schema, &mut below, rest, (whole, control, purpose), records);
    let Some(node) = scope.related.get_mut(related).map(|related| &mut related.node) else {
        return found;
    };
    node.related = below.related;
    let found = found?;
    let is_same = |column: &Column| column.source == found.source;
    let column = node.columns.iter().position(is_same).unwrap_or_else(|| {
        node.columns.push(Column {
            name: rest.to_owned(),
            source: found.source.clone(),
            ty: found.ty,
            time_form: found.time_form,
            selected: false,
        });
        node.columns.len() - 1
    });
    Ok(Comparable { source: ColumnSource::Related { related, column }, nullable: true, ..found })
}

/// Returns the number of relations that a path leads through.
fn hops(path: &str) -> usize {
    path.matches('.').count()
}

impl Scope<'_> {
    /// Returns the path of a relation's records.
    pub(super) fn path_of(&self, relation: &Relation) -> String {
        format!("{}.{}", self.context.path, relation.name)
    }

    /// Adds the records of a relation and returns their index.
    pub(super) fn add(&mut self, relation: &Relation, target: &Entity, node: Node) -> usize {
        let keys = columns::link_columns(&relation.link, target).into_iter();
        let parent_key = |column: &str| columns::storage_name(self.context.entity, column);
        let (parent_keys, child_keys) = keys.map(|(parent, child)| (parent_key(parent), child)).unzip();
        let name = format!("{}${}", relation.name, self.related.len());
        self.related.push(Related {
            name,
            link: relation.link.clone(),
            is_unique: select::links_to_unique(relation, target),
            is_same_type: select::links_alike(relation),
            parent_keys,
            child_keys,
            node,
        });
        self.related.len() - 1
    }
}

/// Finds a relation of the node's entity.
pub(super) fn relation<'a>(
    context: NodeContext<'a>,
    name: &str,
    span: Option<Span>,
) -> Result<&'a Relation, PlanError> {
    match context.entity.member(name) {
        Some(Member::Relation(id)) => Ok(context.entity.relation(id)),
        Some(Member::Field(_) | Member::Computed(_)) => {
            let (entity, field) = (context.entity.key.clone(), name.to_owned());
            Err(context.error(span, PlanErrorKind::FieldAsRelation { entity, field }))
        }
        None => Err(context.unknown_field(name, span)),
    }
}
