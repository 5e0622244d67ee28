//! The names in controls: fields, group keys and aggregates.

use mesh_ql::{AggregateFn, Name, Subject};
use mesh_schema::{FieldType, Member};

use super::Planner;
use super::context::{NodeContext, Scope};
use crate::PlanError;
use crate::error::PlanErrorKind;
pub(super) use crate::plan::parameters::Comparable;
use crate::plan::{Aggregate, ColumnSource, Grouping};

impl Comparable {
    /// Refuses values of a type without an order.
    pub(super) fn check_order(&self, node: &NodeContext<'_>, control: &'static str) -> Result<(), PlanError> {
        if self.incomparable {
            let kind = PlanErrorKind::Incomparable { field: self.name.value.clone() };
            return Err(node.error(self.name.span, kind));
        }
        let Some(ty @ FieldType::Json) = self.ty else { return Ok(()) };
        let kind = PlanErrorKind::Unordered { field: self.name.value.clone(), ty, control };
        Err(node.error(self.name.span, kind))
    }
}

/// Finds the scalar field with that name, which is the last part of the path `whole`, or all of it.
pub(super) fn field(
    node: NodeContext<'_>,
    name: &str,
    whole: &Name,
    control: &'static str,
) -> Result<Comparable, PlanError> {
    let kind = match node.entity.member(name) {
        Some(Member::Field(id)) => {
            let field = node.entity.field(id);
            let source = ColumnSource::Column(field.column.clone());
            let (ty, stored, time_form, nullable) = (field.ty, field.stored, field.time_form, field.nullable);
            let incomparable = field.incomparable;
            let name = whole.clone();
            return Ok(Comparable { name, source, ty, stored, time_form, nullable, incomparable });
        }
        Some(Member::Relation(_)) => {
            let (entity, relation) = (node.entity.key.clone(), name.to_owned());
            PlanErrorKind::RelationAsField { entity, relation, control }
        }
        Some(Member::Computed(_)) => PlanErrorKind::ComputedAsField { field: name.to_owned(), control },
        None if name.contains('.') => PlanErrorKind::PathNotAllowed { path: name.to_owned(), control },
        None => return Err(node.unknown_field(name, whole.span)),
    };
    Err(node.error(whole.span, kind))
}

/// Finds the subject of a control: a field of an ungrouped read, or a group key or an aggregate of a grouped one.
pub(super) fn find(
    planner: &mut Planner<'_>,
    scope: &mut Scope<'_>,
    subject: &Subject,
    grouping: Option<&Grouping>,
    control: &'static str,
) -> Result<Comparable, PlanError> {
    let node = scope.context;
    match subject {
        Subject::Field(name) if grouping.is_none() => planner.path(scope, name, control),
        // Only the filter of records has conditions on JSON.
        Subject::Json { field, .. } => Err(node.unknown_field(field, field.span)),
        Subject::Field(name) => {
            if let Some(bucket) = grouping.and_then(|grouping| bucket(grouping, name)) {
                return Ok(bucket);
            }
            let found = field(node, name, name, control)?;
            if grouping.is_none_or(|grouping| grouping.keys.contains(&found.source)) {
                return Ok(found);
            }
            let kind = PlanErrorKind::NotAGroupKey { field: name.value.clone(), control };
            Err(node.error(name.span, kind))
        }
        Subject::Aggregate(alias) => {
            let aggregates = grouping.map_or(&[][..], |grouping| &grouping.aggregates);
            let found = aggregates.iter().enumerate().find(|(_, aggregate)| *alias == aggregate.alias);
            let Some((index, aggregate)) = found else {
                let kind = PlanErrorKind::UnknownAggregate { alias: alias.value.clone(), control };
                return Err(node.error(alias.span, kind));
            };
            let field = aggregate.column.as_ref().and_then(|column| node.entity.field_of_column(column));
            Ok(Comparable {
                name: alias.clone(),
                source: ColumnSource::Aggregate(index),
                ty: result_type(aggregate),
                stored: None,
                time_form: field.and_then(|id| node.entity.field(id).time_form),
                nullable: true,
                incomparable: false,
            })
        }
    }
}

/// Finds the bucket with that alias, which compares as text.
fn bucket(grouping: &Grouping, alias: &Name) -> Option<Comparable> {
    let is_named =
        |key: &&ColumnSource| matches!(key, ColumnSource::Bucket(bucket) if *alias == bucket.alias);
    grouping.keys.iter().find(is_named).map(|key| Comparable {
        name: alias.clone(),
        source: key.clone(),
        ty: Some(FieldType::String),
        stored: None,
        time_form: None,
        nullable: true,
        incomparable: false,
    })
}

/// Returns the type of an aggregate's value.
pub(super) fn result_type(aggregate: &Aggregate) -> Option<FieldType> {
    match aggregate.function {
        AggregateFn::Count => Some(FieldType::Integer),
        AggregateFn::Avg => Some(FieldType::Number),
        AggregateFn::Sum | AggregateFn::Min | AggregateFn::Max => aggregate.ty,
    }
}
