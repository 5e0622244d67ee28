//! In which order? `$orderBy` and the keys that make it total. `SPEC §3.9`

use mesh_ql::{Direction, Nulls, OrderBy, Subject};
use mesh_schema::{Entity, FieldType};

use super::columns::Columns;
use super::{At, filter, group};
use crate::plan::{ColumnSource, Grouping, SortKey};
use crate::{PlanError, PlanErrorKind};

/// The keys given, then those that break ties, in the direction of the last one given.
pub(super) fn plan(
    at: &At<'_>,
    order: &[OrderBy],
    grouping: Option<&Grouping>,
    columns: &Columns,
) -> Result<Vec<SortKey>, PlanError> {
    let mut keys = Vec::with_capacity(order.len() + 1);
    for by in order {
        let left = match (grouping, &by.subject) {
            (Some(grouping), subject) => group::subject(at, subject, grouping, "$orderBy")?,
            (None, Subject::Field(name)) => filter::field(at, name, "$orderBy")?,
            (None, Subject::Aggregate(alias)) => {
                return Err(
                    at.error(PlanErrorKind::UnknownAggregate { alias: alias.clone(), control: "$orderBy" })
                );
            }
        };
        if let Some(ty @ FieldType::Json) = left.ty {
            let field = left.name.to_owned();
            return Err(at.error(PlanErrorKind::Unordered { field, ty, control: "$orderBy" }));
        }
        let nullable = nullable(at.entity, &left.source);
        keys.push(SortKey {
            source: left.source,
            direction: by.direction,
            nulls: by.nulls,
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
            .map(|column| tie(&column.source, nullable(at.entity, &column.source)))
            .collect(),
        None => tie_break(at),
    };
    for mut key in ties {
        if !keys.iter().any(|there| there.source == key.source) {
            key.direction = direction;
            keys.push(key);
        }
    }
    Ok(keys)
}

/// The keys that tell an entity's rows apart, ascending.
pub(super) fn tie_break(at: &At<'_>) -> Vec<SortKey> {
    let id = at.entity.id.map(|id| {
        let field = at.entity.field(id);
        tie(&ColumnSource::Column(field.column.clone()), field.nullable)
    });
    let others =
        at.entity.tie_break.iter().map(|key| tie(&ColumnSource::Column(key.column.clone()), key.nullable));
    id.into_iter().chain(others).collect()
}

fn tie(source: &ColumnSource, nullable: bool) -> SortKey {
    SortKey {
        source: source.clone(),
        direction: Direction::Asc,
        nulls: Nulls::Last,
        nullable,
        breaks_ties: true,
        column: None,
    }
}

fn nullable(entity: &Entity, source: &ColumnSource) -> bool {
    match source {
        ColumnSource::Column(column) => {
            entity.field_of_column(column).is_none_or(|id| entity.field(id).nullable)
        }
        ColumnSource::Aggregate(_) => true,
    }
}
