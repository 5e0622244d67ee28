//! `GET {docs}/schema`: the schema as clients see it, without tables and columns.

use mesh_plan::Limits;
use mesh_ql::{AggregateFn, CONTROLS, FilterOp, Format};
use mesh_schema::{Cardinality, Entity, FieldType, Schema};
use serde::Serialize;

use crate::visible::Visible;

/// The introspection. `SPEC §13.1`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Introspection<'s> {
    title: Option<&'s str>,
    query: Language,
    entities: Vec<Shown<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Language {
    formats: [&'static str; 2],
    controls: [&'static str; 8],
    filter_operators: [&'static str; 12],
    aggregate_functions: [&'static str; 5],
    pagination: Pagination,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    style: &'static str,
    default_first: u32,
    max_first: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'s> {
    name: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'s str>,
    fields: Vec<ShownField<'s>>,
    joins: Vec<ShownJoin<'s>>,
    list_capable: bool,
    id_field: Option<&'s str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uploads: Vec<ShownUpload<'s>>,
}

#[derive(Serialize)]
struct ShownField<'s> {
    name: &'s str,
    kind: &'static str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'s str>,
}

#[derive(Serialize)]
struct ShownJoin<'s> {
    name: &'s str,
    entity: &'s str,
    #[serde(rename = "type")]
    ty: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownUpload<'s> {
    field: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_types: Option<&'s [String]>,
}

impl<'s> Introspection<'s> {
    /// Creates the introspection of a schema that policies have already restricted.
    pub(crate) fn new(
        schema: &'s Schema,
        visible: &Visible,
        limits: &Limits,
        title: Option<&'s str>,
    ) -> Self {
        let pagination = Pagination {
            style: "keyset",
            default_first: limits.page_default,
            max_first: limits.query.page_max,
        };
        let query = Language {
            formats: Format::ALL.map(Format::name),
            controls: CONTROLS,
            filter_operators: FilterOp::ALL.map(FilterOp::name),
            aggregate_functions: AggregateFn::ALL.map(AggregateFn::name),
            pagination,
        };
        let entities =
            visible.entities(schema).into_iter().map(|entity| shown(schema, visible, entity)).collect();
        Self { title, query, entities }
    }
}

fn shown<'s>(schema: &'s Schema, visible: &Visible, entity: &'s Entity) -> Shown<'s> {
    let is_there = |name: &str| entity.member(name).is_some();
    let fields = || entity.fields.iter().filter(|field| is_there(&field.name));
    let scalars = fields().map(|field| ShownField {
        name: &field.name,
        kind: "scalar",
        ty: field.ty.map(FieldType::name),
        description: field.description.as_deref(),
    });
    let computed = entity
        .computed
        .iter()
        .filter(|computed| is_there(&computed.name))
        .map(|computed| ShownField { name: &computed.name, kind: "computed", ty: None, description: None });
    let joins = visible.relations(schema, entity).into_iter().map(|(relation, target)| ShownJoin {
        name: &relation.name,
        entity: &target.key,
        ty: Cardinality::name(relation.cardinality),
    });
    let uploads = fields().filter_map(|field| {
        field.upload.as_ref().map(|upload| ShownUpload {
            field: &field.name,
            max_bytes: upload.max_bytes,
            content_types: upload.content_types.as_deref(),
        })
    });
    Shown {
        name: &entity.key,
        description: entity.description.as_deref(),
        fields: scalars.chain(computed).collect(),
        joins: joins.collect(),
        list_capable: true,
        id_field: entity.id.map(|id| entity.field(id).name.as_str()).filter(|name| is_there(name)),
        uploads: uploads.collect(),
    }
}
