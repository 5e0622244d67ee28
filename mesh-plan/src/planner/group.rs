//! Planning of grouped reads: `$groupBy`, `$aggregate`, `$having` and `$distinct`. `SPEC §3.12`, `SPEC §3.13`

use mesh_ql::{AggregateFn, Controls, GroupKey, Name, ReadNode, Selection};
use mesh_schema::{FieldType, Member, NativeKind, NativeType};

use super::columns::Columns;
use super::comparable::{self, Comparable};
use super::context::{NodeContext, Scope};
use super::{Planner, filter};
use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::{Aggregate, Bucket, Column, ColumnSource, Grouping, Output};
use crate::shape::OutputKey;
use crate::value::bucket::is_zone_name;

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
    let (control, requested) = match (&controls.distinct, &controls.group) {
        (Some(names), _) => ("$distinct", names.iter().cloned().map(GroupKey::Field).collect()),
        (None, Some(keys)) => ("$groupBy", keys.to_vec()),
        (None, None) => ("$aggregate", Vec::new()),
    };
    let mut keys = Vec::with_capacity(requested.len());
    for key in &requested {
        let selected = read.select.iter().any(|selection| selection.name() == key.name());
        let column = match key {
            GroupKey::Field(name) => {
                let column = field(node, name, selected, control)?;
                let is_taken = !selected && controls.aggregates.iter().any(|other| other.alias == *name);
                if is_taken { Column { name: format!("group.{name}"), ..column } } else { column }
            }
            GroupKey::Bucket(requested) => bucket(node, requested, selected, &keys)?,
        };
        keys.push(column.source.clone());
        columns.add(column);
    }
    let mut output = Vec::with_capacity(read.select.len() + controls.aggregates.len());
    for selection in &read.select {
        let column = selected(node, selection, (&requested, control), columns)?;
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

/// Plans a group key that is a field.
fn field(
    node: &NodeContext<'_>,
    name: &Name,
    selected: bool,
    control: &'static str,
) -> Result<Column, PlanError> {
    let field = comparable::field(*node, name, name, control)?;
    field.check_order(node, control)?;
    let Comparable { name, source, ty, time_form, .. } = field;
    Ok(Column { name: name.value, source, ty, time_form, selected })
}

/// Plans a group key that is a bucket; `earlier` are the keys before it. `SPEC §21.1`
fn bucket(
    node: &NodeContext<'_>,
    requested: &mesh_ql::Bucket,
    selected: bool,
    earlier: &[ColumnSource],
) -> Result<Column, PlanError> {
    let mesh_ql::Bucket { field: name, unit, alias, zone } = requested;
    let field = comparable::field(*node, name, name, "$groupBy")?;
    let (column, time_form) = (field.source.column().unwrap_or_default(), field.time_form);
    let hint = match field.ty {
        Some(FieldType::Date | FieldType::Datetime) if !stores_times(node.entity.native.get(column)) => {
            Some("the type of its column is none of times")
        }
        Some(FieldType::Datetime) => None,
        Some(FieldType::Date) if unit.is_within_day() => Some("days have no time"),
        Some(FieldType::Date) if zone.is_some() => Some("days have no time zone; leave `zone` out"),
        Some(FieldType::Date) => None,
        _ => Some("a bucket takes a field of type date or datetime"),
    };
    let (column, field) = (column.to_owned(), name.value.clone());
    if let Some(hint) = hint {
        return Err(node.error(name.span, PlanErrorKind::Bucket { field, unit: **unit, hint }));
    }
    if node.entity.member(alias).is_some() {
        let (entity, alias_name) = (node.entity.key.clone(), alias.value.clone());
        return Err(node.error(alias.span, PlanErrorKind::AliasOfMember { entity, alias: alias_name }));
    }
    if let Some(zone) = zone.as_ref().filter(|zone| !is_zone_name(zone)) {
        return Err(node.error(zone.span, PlanErrorKind::ZoneName { zone: zone.value.clone() }));
    }
    // Databases without tables of time zones know UTC, too.
    let zone = zone.as_deref().filter(|zone| !zone.eq_ignore_ascii_case("UTC")).cloned();
    let bucket = Bucket { alias: alias.value.clone(), column, unit: **unit, zone, time_form };
    if earlier.iter().any(|key| matches!(key, ColumnSource::Bucket(other) if other.is_same(&bucket))) {
        return Err(node.error(name.span, PlanErrorKind::BucketTwice { field }));
    }
    let source = ColumnSource::Bucket(Box::new(bucket));
    Ok(Column { name: alias.value.clone(), source, ty: Some(FieldType::String), time_form: None, selected })
}

/// Returns whether values of a storage type are times, as far as it is known.
fn stores_times(native: Option<&NativeType>) -> bool {
    let names = ["date", "datetime", "timestamp", "timestamptz"];
    native.is_none_or(|native| native.kind == NativeKind::BuiltIn && names.contains(&&*native.name))
}

/// Returns the index of the column of a selected group key. The keys are `requested`, listed by `control`.
fn selected(
    node: &NodeContext<'_>,
    selection: &Selection,
    (requested, control): (&[GroupKey], &'static str),
    columns: &Columns,
) -> Result<usize, PlanError> {
    let name = selection.name();
    let is_bucket =
        |column: &Column| matches!(column.source, ColumnSource::Bucket(_)) && *name == column.name;
    if let (Selection::Field { alias: None, .. }, Some(bucket)) =
        (selection, columns.list.iter().position(is_bucket))
    {
        return Ok(bucket);
    }
    let kind = match (selection, node.entity.member(name)) {
        (_, None) => return Err(node.unknown_field(name, name.span)),
        (Selection::Relation { .. }, _) | (_, Some(Member::Relation(_))) => {
            PlanErrorKind::RelationInGroup { relation: name.value.clone() }
        }
        (Selection::Field { alias: Some(alias), .. }, _) => {
            let kind = PlanErrorKind::AliasInGroup { alias: alias.value.clone() };
            return Err(node.error(alias.span, kind));
        }
        (Selection::Field { .. }, Some(Member::Field(id)))
            if requested.iter().any(|key| key.name() == name) =>
        {
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
