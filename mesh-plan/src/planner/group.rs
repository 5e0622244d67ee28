//! Are rows folded into groups? `$groupBy`, `$aggregate`, `$having` and `$distinct`. `SPEC §3.12`, `SPEC §3.13`

use mesh_ql::{AggregateFn, Controls, ReadNode, Selection, Subject};
use mesh_schema::{FieldType, Member};

use super::At;
use super::columns::{self, Columns};
use super::filter::{self, Left};
use crate::plan::{Aggregate, Column, ColumnSource, Grouping, Output};
use crate::shape::OutputKey;
use crate::{PlanError, PlanErrorKind};

/// Whether a node's rows are groups.
pub(super) fn is_grouped(controls: &Controls) -> bool {
    controls.group.is_some() || controls.distinct.is_some() || !controls.aggregates.is_empty()
}

/// The keys of an item and how groups are made. `$distinct` is a grouping without aggregates.
pub(super) fn plan(
    at: &At<'_>,
    read: &ReadNode,
    columns: &mut Columns,
) -> Result<(Vec<Output>, Grouping), PlanError> {
    let controls = &read.controls;
    let (control, names) = match (&controls.distinct, &controls.group) {
        (Some(names), _) => ("$distinct", names.as_slice()),
        (None, Some(names)) => ("$groupBy", names.as_slice()),
        (None, None) => ("$aggregate", &[][..]),
    };
    let mut keys = Vec::with_capacity(names.len());
    for name in names {
        let left = filter::field(at, name, control)?;
        if let Some(ty @ FieldType::Json) = left.ty {
            return Err(at.error(PlanErrorKind::Unordered { field: name.clone(), ty, control }));
        }
        let selected = read.select.iter().any(|selection| selection.name() == name);
        if let (ColumnSource::Column(storage), Some(Member::Field(id))) =
            (&left.source, at.entity.member(name))
        {
            keys.push(storage.clone());
            let mut column = columns::of_field(at.entity, id, selected);
            if !selected && controls.aggregates.iter().any(|aggregate| aggregate.alias == *name) {
                column.name = format!("group.{name}");
            }
            columns.add(column);
        }
    }
    let mut output = Vec::with_capacity(read.select.len() + controls.aggregates.len());
    for selection in &read.select {
        let column = selected(at, selection, names, control, columns)?;
        output.push(Output::Field { key: OutputKey::new(selection.name(), output.is_empty()), column });
    }
    let mut aggregates = Vec::with_capacity(controls.aggregates.len());
    for (index, aggregate) in controls.aggregates.iter().enumerate() {
        let (planned, column) = self::aggregate(at, aggregate, index)?;
        let key = OutputKey::new(&aggregate.alias, output.is_empty());
        output.push(Output::Field { key, column: columns.add(column) });
        aggregates.push(planned);
    }
    let mut grouping = Grouping { keys, aggregates, having: None };
    if let Some(tree) = &controls.having {
        grouping.having = Some(filter::plan_having(at, tree, &grouping)?);
    }
    Ok((output, grouping))
}

/// The column of a group's key.
fn selected(
    at: &At<'_>,
    selection: &Selection,
    names: &[String],
    control: &'static str,
    columns: &Columns,
) -> Result<usize, PlanError> {
    let name = selection.name();
    match (selection, at.entity.member(name)) {
        (_, None) => Err(at.unknown(name)),
        (Selection::Relation(..), _) | (_, Some(Member::Relation(_))) => {
            Err(at.error(PlanErrorKind::RelationInGroup { relation: name.to_owned() }))
        }
        (Selection::Field(_), Some(Member::Field(id))) if names.iter().any(|key| key == name) => {
            let source = ColumnSource::Column(at.entity.field(id).column.clone());
            let named = |column: &Column| column.source == source && column.name == name;
            Ok(columns.list.iter().position(named).unwrap_or_default())
        }
        _ => Err(at.error(PlanErrorKind::NotSelectable { field: name.to_owned(), control })),
    }
}

fn aggregate(
    at: &At<'_>,
    written: &mesh_ql::Aggregate,
    index: usize,
) -> Result<(Aggregate, Column), PlanError> {
    let left = written.field.as_ref().map(|name| filter::field(at, name, "$aggregate")).transpose()?;
    let ty = left.as_ref().and_then(|left| left.ty);
    if let (Some(left), Some(ty)) = (&left, ty)
        && !applies(written, ty)
    {
        let (function, field) = (written.function, left.name.to_owned());
        return Err(at.error(PlanErrorKind::Function { function, field, ty }));
    }
    let time_form = left.as_ref().and_then(|left| left.time_form);
    let planned = Aggregate {
        alias: written.alias.clone(),
        function: written.function,
        column: left.and_then(|left| match left.source {
            ColumnSource::Column(column) => Some(column),
            ColumnSource::Aggregate(_) => None,
        }),
        distinct: written.distinct,
        ty,
    };
    let column = Column {
        name: written.alias.clone(),
        source: ColumnSource::Aggregate(index),
        ty: result_type(&planned),
        time_form,
        selected: true,
    };
    Ok((planned, column))
}

fn applies(aggregate: &mesh_ql::Aggregate, ty: FieldType) -> bool {
    use FieldType::{Bigint, Binary, Boolean, Decimal, Integer, Json, Number, Uuid};
    match aggregate.function {
        AggregateFn::Count => ty != Json || !aggregate.distinct,
        AggregateFn::Sum | AggregateFn::Avg => matches!(ty, Integer | Bigint | Number | Decimal),
        AggregateFn::Min | AggregateFn::Max => !matches!(ty, Boolean | Json | Binary | Uuid),
    }
}

fn result_type(aggregate: &Aggregate) -> Option<FieldType> {
    match aggregate.function {
        AggregateFn::Count => Some(FieldType::Integer),
        AggregateFn::Avg => Some(FieldType::Number),
        AggregateFn::Sum | AggregateFn::Min | AggregateFn::Max => aggregate.ty,
    }
}

/// What `$having` or `$orderBy` of a grouped read names: an aggregate or a group key.
pub(super) fn subject<'q>(
    at: &At<'_>,
    subject: &'q Subject,
    grouping: &Grouping,
    control: &'static str,
) -> Result<Left<'q>, PlanError> {
    match subject {
        Subject::Field(name) => {
            let left = filter::field(at, name, control)?;
            let is_key =
                matches!(&left.source, ColumnSource::Column(column) if grouping.keys.contains(column));
            if is_key {
                Ok(left)
            } else {
                Err(at.error(PlanErrorKind::NotAGroupKey { field: name.clone(), control }))
            }
        }
        Subject::Aggregate(alias) => {
            let found = grouping.aggregates.iter().enumerate().find(|(_, it)| it.alias == *alias);
            let Some((index, aggregate)) = found else {
                return Err(at.error(PlanErrorKind::UnknownAggregate { alias: alias.clone(), control }));
            };
            let time_form = aggregate
                .column
                .as_ref()
                .and_then(|column| at.entity.field_of_column(column))
                .and_then(|id| at.entity.field(id).time_form);
            Ok(Left {
                name: alias,
                source: ColumnSource::Aggregate(index),
                ty: result_type(aggregate),
                time_form,
            })
        }
    }
}
