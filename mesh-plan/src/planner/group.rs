//! Planning of grouped reads: `$groupBy`, `$aggregate`, `$having` and `$distinct`. `SPEC §3.12`, `SPEC §3.13`

use mesh_ql::{AggregateFn, Controls, Name, ReadNode, Selection};
use mesh_schema::{FieldType, Member};

use super::columns::{self, Columns};
use super::context::{NodeContext, Scope};
use super::{Planner, comparable, filter};
use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::{Aggregate, Column, ColumnSource, Grouping, Output};
use crate::shape::OutputKey;

/// Returns whether a node's items are groups of records.
pub(super) fn is_grouped(controls: &Controls) -> bool {
    controls.group.is_some() || controls.distinct.is_some() || !controls.aggregates.is_empty()
}

/// Plans the keys of an item and the groups. `$distinct` is a grouping without aggregates.
pub(super) fn plan(
    planner: &mut Planner<'_>,
    scope: &mut Scope<'_>,
    read: &ReadNode,
    columns: &mut Columns,
) -> Result<(Vec<Output>, Grouping), PlanError> {
    let node = &scope.context.clone();
    let controls = &read.controls;
    let (control, names) = match (&controls.distinct, &controls.group) {
        (Some(names), _) => ("$distinct", names.as_slice()),
        (None, Some(names)) => ("$groupBy", names.as_slice()),
        (None, None) => ("$aggregate", &[][..]),
    };
    let mut keys = Vec::with_capacity(names.len());
    for name in names {
        let key = comparable::field(*node, name, name, control)?;
        key.check_order(node, control)?;
        let selected = read.select.iter().any(|selection| selection.name() == name);
        if let (ColumnSource::Column(storage), Some(Member::Field(id))) =
            (&key.source, node.entity.member(name))
        {
            keys.push(storage.clone());
            let mut column = columns::from_field(node.entity, id, selected);
            if !selected && controls.aggregates.iter().any(|aggregate| aggregate.alias == *name) {
                column.name = format!("group.{name}");
            }
            columns.add(column);
        }
    }
    let mut output = Vec::with_capacity(read.select.len() + controls.aggregates.len());
    for selection in &read.select {
        let column = selected(node, selection, (names, control), columns)?;
        output.push(Output::Field { key: OutputKey::new(selection.name(), output.is_empty()), column });
    }
    let mut aggregates = Vec::with_capacity(controls.aggregates.len());
    for (index, requested) in controls.aggregates.iter().enumerate() {
        let (planned, column) = aggregate(node, requested, index)?;
        let key = OutputKey::new(&requested.alias, output.is_empty());
        output.push(Output::Field { key, column: columns.add(column) });
        aggregates.push(planned);
    }
    let mut grouping = Grouping { keys, aggregates, having: None };
    if let Some(tree) = &controls.having {
        grouping.having = Some(filter::plan(planner, scope, tree, Some(&grouping))?);
    }
    Ok((output, grouping))
}

/// Returns the index of the column of a selected group key. The keys are `names`, listed by `control`.
fn selected(
    node: &NodeContext<'_>,
    selection: &Selection,
    (names, control): (&[Name], &'static str),
    columns: &Columns,
) -> Result<usize, PlanError> {
    let name = selection.name();
    let kind = match (selection, node.entity.member(name)) {
        (_, None) => return Err(node.unknown_field(name, name.span)),
        (Selection::Relation { .. }, _) | (_, Some(Member::Relation(_))) => {
            PlanErrorKind::RelationInGroup { relation: name.value.clone() }
        }
        (Selection::Field { alias: Some(alias), .. }, _) => {
            let kind = PlanErrorKind::AliasInGroup { alias: alias.value.clone() };
            return Err(node.error(alias.span, kind));
        }
        (Selection::Field { .. }, Some(Member::Field(id))) if names.contains(name) => {
            let source = ColumnSource::Column(node.entity.field(id).column.clone());
            let is_key = |column: &Column| column.source == source && *name == column.name;
            return Ok(columns.list.iter().position(is_key).unwrap_or_default());
        }
        _ => PlanErrorKind::NotSelectable { field: name.value.clone(), control },
    };
    Err(node.error(name.span, kind))
}

/// Plans the aggregate with that index, and its column.
pub(super) fn aggregate(
    node: &NodeContext<'_>,
    requested: &mesh_ql::Aggregate,
    index: usize,
) -> Result<(Aggregate, Column), PlanError> {
    let field = requested
        .field
        .as_ref()
        .map(|name| comparable::field(*node, name, name, "$aggregate"))
        .transpose()?;
    let ty = field.as_ref().and_then(|field| field.ty);
    if let Some(field) = field.as_ref().filter(|field| field.incomparable)
        && (requested.function != AggregateFn::Count || requested.distinct)
    {
        let kind = PlanErrorKind::Incomparable { field: field.name.value.clone() };
        return Err(node.error(field.name.span, kind));
    }
    if let (Some(field), Some(ty)) = (&field, ty)
        && !applies(requested, ty)
    {
        let function = requested.function;
        let kind = PlanErrorKind::Function { function, field: field.name.value.clone(), ty };
        return Err(node.error(field.name.span, kind));
    }
    let time_form = field.as_ref().and_then(|field| field.time_form);
    let planned = Aggregate {
        alias: requested.alias.value.clone(),
        function: requested.function,
        column: field.and_then(|field| match field.source {
            ColumnSource::Column(column) => Some(column),
            _ => None,
        }),
        distinct: requested.distinct,
        ty,
    };
    let column = Column {
        name: planned.alias.clone(),
        source: ColumnSource::Aggregate(index),
        ty: comparable::result_type(&planned),
        time_form,
        selected: true,
    };
    Ok((planned, column))
}

/// Returns whether a function can be computed over values of a type. `SPEC §3.12`
fn applies(aggregate: &mesh_ql::Aggregate, ty: FieldType) -> bool {
    use FieldType::{Bigint, Binary, Boolean, Decimal, Integer, Json, Number, Unsigned, Uuid};
    match aggregate.function {
        AggregateFn::Count => ty != Json || !aggregate.distinct,
        AggregateFn::Sum | AggregateFn::Avg => matches!(ty, Integer | Unsigned | Bigint | Number | Decimal),
        AggregateFn::Min | AggregateFn::Max => !matches!(ty, Boolean | Json | Binary | Uuid),
    }
}
