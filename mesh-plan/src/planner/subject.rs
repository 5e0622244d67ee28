//! Names in controls: fields, group keys and aggregates, looked up by name.

use mesh_ql::{AggregateFn, Name, Subject};
use mesh_schema::{FieldType, Member, TimeForm};

use super::context::NodeContext;
use crate::plan::{Aggregate, ColumnSource, Grouping};
use crate::{PlanError, PlanErrorKind};

/// A value that can be compared, and what is known of it.
pub(super) struct Comparable<'q> {
    pub(super) name: &'q Name,
    pub(super) source: ColumnSource,
    pub(super) ty: Option<FieldType>,
    pub(super) time_form: Option<TimeForm>,
}

/// Finds the scalar field with that name.
pub(super) fn field<'q>(
    node: &NodeContext<'_>,
    name: &'q Name,
    control: &'static str,
) -> Result<Comparable<'q>, PlanError> {
    let kind = match node.entity.member(name) {
        Some(Member::Field(id)) => {
            let field = node.entity.field(id);
            let source = ColumnSource::Column(field.column.clone());
            return Ok(Comparable { name, source, ty: field.ty, time_form: field.time_form });
        }
        Some(Member::Relation(_)) => {
            let (entity, relation) = (node.entity.key.clone(), name.value.clone());
            PlanErrorKind::RelationAsField { entity, relation, control }
        }
        Some(Member::Computed(_)) => PlanErrorKind::ComputedAsField { field: name.value.clone(), control },
        None => return Err(node.unknown_field(name, name.span)),
    };
    Err(node.error(name.span, kind))
}

/// Finds what a control of an ungrouped read names: a field.
pub(super) fn of_record<'q>(
    node: &NodeContext<'_>,
    subject: &'q Subject,
    control: &'static str,
) -> Result<Comparable<'q>, PlanError> {
    match subject {
        Subject::Field(name) => field(node, name, control),
        Subject::Aggregate(alias) => Err(unknown_aggregate(node, alias, control)),
    }
}

/// Finds what a control of a grouped read names: a group key or an aggregate.
pub(super) fn of_group<'q>(
    node: &NodeContext<'_>,
    subject: &'q Subject,
    grouping: &Grouping,
    control: &'static str,
) -> Result<Comparable<'q>, PlanError> {
    match subject {
        Subject::Field(name) => {
            let found = field(node, name, control)?;
            let is_key =
                matches!(&found.source, ColumnSource::Column(column) if grouping.keys.contains(column));
            if is_key {
                return Ok(found);
            }
            let kind = PlanErrorKind::NotAGroupKey { field: name.value.clone(), control };
            Err(node.error(name.span, kind))
        }
        Subject::Aggregate(alias) => {
            let found = grouping.aggregates.iter().enumerate().find(|(_, it)| *alias == it.alias);
            let Some((index, aggregate)) = found else {
                return Err(unknown_aggregate(node, alias, control));
            };
            let field = aggregate.column.as_ref().and_then(|column| node.entity.field_of_column(column));
            Ok(Comparable {
                name: alias,
                source: ColumnSource::Aggregate(index),
                ty: result_type(aggregate),
                time_form: field.and_then(|id| node.entity.field(id).time_form),
            })
        }
    }
}

fn unknown_aggregate(node: &NodeContext<'_>, alias: &Name, control: &'static str) -> PlanError {
    let kind = PlanErrorKind::UnknownAggregate { alias: alias.value.clone(), control };
    node.error(alias.span, kind)
}

/// Returns the type of an aggregate's value.
pub(super) fn result_type(aggregate: &Aggregate) -> Option<FieldType> {
    match aggregate.function {
        AggregateFn::Count => Some(FieldType::Integer),
        AggregateFn::Avg => Some(FieldType::Number),
        AggregateFn::Sum | AggregateFn::Min | AggregateFn::Max => aggregate.ty,
    }
}
