//! Planning of `$orderBy`, and the keys that make an order total. `SPEC §3.9`

use mesh_ql::{Direction, Nulls, OrderBy};
use mesh_schema::{Entity, FieldType};

use super::columns::Columns;
use super::context::NodeContext;
use super::subject;
use crate::plan::{ColumnSource, Grouping, SortKey};
use crate::{PlanError, PlanErrorKind};

/// Returns the written keys, then those that break ties, in the direction of the last written one.
pub(super) fn plan(
    node: &NodeContext<'_>,
    order: &[OrderBy],
    grouping: Option<&Grouping>,
    columns: &Columns,
) -> Result<Vec<SortKey>, PlanError> {
    let mut keys = Vec::with_capacity(order.len() + 1);
    for OrderBy { subject, direction, nulls } in order {
        let key = match grouping {
            Some(grouping) => subject::of_group(node, subject, grouping, "$orderBy")?,
            None => subject::of_record(node, subject, "$orderBy")?,
        };
        if let Some(ty @ FieldType::Json) = key.ty {
            let field = key.name.value.clone();
            let kind = PlanErrorKind::Unordered { field, ty, control: "$orderBy" };
            return Err(node.error(key.name.span, kind));
        }
        let nullable = is_nullable(node.entity, &key.source);
        let (direction, nulls) = (*direction, *nulls);
        keys.push(SortKey {
            source: key.source,
            direction,
            nulls,
            nullable,
            breaks_ties: false,
            column: None,
        });
    }
    let direction = keys.last().map_or(Direction::Asc, |key| key.direction);
    let ties = match grouping {
        Some(_) => columns
            .list
            .iter()
            .filter(|column| matches!(column.source, ColumnSource::Column(_)))
            .map(|column| tie_breaker(&column.source, is_nullable(node.entity, &column.source)))
            .collect(),
        None => tie_break(node.entity),
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
pub(super) fn tie_break(entity: &Entity) -> Vec<SortKey> {
    let id = entity.id.map(|id| {
        let field = entity.field(id);
        tie_breaker(&ColumnSource::Column(field.column.clone()), field.nullable)
    });
    let others = entity
        .tie_break
        .iter()
        .map(|key| tie_breaker(&ColumnSource::Column(key.column.clone()), key.nullable));
    id.into_iter().chain(others).collect()
}

fn tie_breaker(source: &ColumnSource, nullable: bool) -> SortKey {
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
        ColumnSource::Aggregate(_) => true,
    }
}
