//! Planning of `$orderBy`, and the keys that make an order total. `SPEC §3.9`

use mesh_ql::{Direction, Nulls, OrderBy, OrderKey};
use mesh_schema::Entity;

use super::Planner;
use super::columns::Columns;
use super::comparable;
use super::context::Scope;
use super::search;
use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::{ColumnSource, Grouping, Predicate, SortKey};

/// Returns the keys of the query, then the keys that break ties, in the direction of the last key of the query. `filter` is that
/// of the query, where records can be ordered by its search.
pub(super) fn plan(
    planner: &mut Planner<'_>,
    scope: &mut Scope<'_>,
    order: &[OrderBy],
    grouping: Option<&Grouping>,
    (columns, filter): (&Columns, Option<Option<&Predicate>>),
) -> Result<Vec<SortKey>, PlanError> {
    let node = scope.context;
    let mut keys = Vec::with_capacity(order.len() + 1);
    for OrderBy { key, direction, nulls } in order {
        let key = match key {
            OrderKey::Subject(subject) => comparable::find(planner, scope, subject, grouping, "$orderBy")?,
            OrderKey::Relation { relation, .. } if grouping.is_some() => {
                let kind = PlanErrorKind::RelationInGroup { relation: relation.value.clone() };
                return Err(node.error(relation.span, kind));
            }
            OrderKey::Relation { relation, aggregate } => {
                planner.relation_aggregate(scope, relation, aggregate)?
            }
            OrderKey::Search { search } => {
                let Some(filter) = filter.filter(|_| grouping.is_none()) else {
                    return Err(node.error(search.span, PlanErrorKind::RelevanceBelowRoot));
                };
                let search = search::ranked(&node, filter, search.span)?;
                let best_first = sort_key(&ColumnSource::Relevance(Box::new(search)), false);
                keys.push(SortKey { direction: Direction::Desc, breaks_ties: false, ..best_first });
                continue;
            }
        };
        key.check_order(&node, "$orderBy")?;
        let requested = sort_key(&key.source, key.nullable);
        let direction = direction.unwrap_or(Direction::Asc);
        keys.push(SortKey { direction, nulls: *nulls, breaks_ties: false, ..requested });
    }
    let direction = order.last().and_then(|key| key.direction).unwrap_or(Direction::Asc);
    let ties = match grouping {
        Some(_) => {
            let sources = columns.list.iter().map(|column| &column.source);
            let keys =
                sources.filter(|source| matches!(source, ColumnSource::Column(_) | ColumnSource::Bucket(_)));
            keys.map(|source| sort_key(source, is_nullable(node.entity, source))).collect()
        }
        None => tie_break_keys(node.entity),
    };
    for mut key in ties {
        if !keys.iter().any(|other| other.source == key.source) {
            key.direction = direction;
            keys.push(key);
        }
    }
    Ok(keys)
}

/// Returns the keys that distinguish an entity's rows, ascending.
pub(super) fn tie_break_keys(entity: &Entity) -> Vec<SortKey> {
    let id = entity.id_fields();
    let id = id.map(|field| sort_key(&ColumnSource::Column(field.column.clone()), field.nullable));
    let others = entity.tie_break.iter();
    let others = others.map(|key| sort_key(&ColumnSource::Column(key.column.clone()), key.nullable));
    id.chain(others).collect()
}

fn sort_key(source: &ColumnSource, nullable: bool) -> SortKey {
    SortKey {
        source: source.clone(),
        direction: Direction::Asc,
        nulls: Nulls::Last,
        nullable,
        breaks_ties: true,
        column: None,
    }
}

fn is_nullable(entity: &Entity, source: &ColumnSource) -> bool {
    match source {
        ColumnSource::Column(column) => {
            entity.field_of_column(column).is_none_or(|id| entity.field(id).nullable)
        }
        _ => true,
    }
}
