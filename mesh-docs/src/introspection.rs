//! `GET {docs}/schema`: the schema as clients see it, without tables and columns.

use mesh_plan::Limits;
use mesh_ql::{AggregateFn, CONTROLS, FilterOp, Format};
use mesh_schema::{Cardinality, Entity, FieldType, Schema};
use serde_json::{Value, json};

use crate::json::{set, set_some};
use crate::rights::{self, RelationWrite};
use crate::visible::Visible;
use crate::{Options, members};

/// Returns the introspection of a schema that policies have already restricted. If an administrator views the data as
/// another role, it offers only reads. `SPEC §13.1`
pub(crate) fn document(
    schema: &Schema,
    visible: &Visible,
    limits: &Limits,
    options: &Options,
    is_view: bool,
) -> Value {
    let entities = visible.entities(schema).into_iter();
    let offers = if is_view { options.offers.for_views() } else { options.offers.clone() };
    let described = |entity| described(schema, visible, entity, offers.mutations, !is_view);
    json!({
        "title": options.title,
        "query": {
            "formats": Format::ALL.map(Format::as_str),
            "controls": CONTROLS,
            "filterOperators": FilterOp::ALL.map(FilterOp::as_str),
            "aggregateFunctions": AggregateFn::ALL.map(AggregateFn::as_str),
            "pagination": {
                "style": "keyset",
                "defaultFirst": limits.page_default,
                "maxFirst": limits.query.page_max,
            },
        },
        "profiles": offers.optional_profiles(),
        "entities": entities.map(described).collect::<Vec<_>>(),
    })
}

fn described(
    schema: &Schema,
    visible: &Visible,
    entity: &Entity,
    has_writes: bool,
    has_uploads: bool,
) -> Value {
    let scalars = members::fields(entity).map(|field| {
        let mut described = json!({"name": field.name, "kind": "scalar"});
        set_some(&mut described, "type", field.ty.map(FieldType::as_str));
        set(&mut described, "nullable", field.nullable);
        set_some(&mut described, "description", field.description.as_deref());
        described
    });
    let computed = members::computed(entity).map(|computed| {
        let mut described = json!({"name": computed.name, "kind": "computed"});
        set_some(&mut described, "description", computed.description.as_deref());
        described
    });
    let joins = visible.relations(schema, entity).into_iter().map(|(relation, target)| {
        let cardinality = Cardinality::as_str(relation.cardinality);
        let mut described = json!({"name": relation.name, "entity": target.key, "type": cardinality});
        let writes = rights::relation_writes(entity, relation, target).into_iter().map(RelationWrite::name);
        let writes: Vec<_> = writes.filter(|_| has_writes).collect();
        set_some(&mut described, "writes", Some(writes).filter(|writes| !writes.is_empty()));
        described
    });
    let uploads = members::fields(entity).filter_map(|field| {
        let upload = field.upload.as_ref()?;
        let mut described = json!({"field": field.name});
        set_some(&mut described, "maxBytes", upload.max_bytes);
        set_some(&mut described, "contentTypes", upload.content_types.clone());
        Some(described)
    });
    let uploads: Vec<_> = uploads.filter(|_| has_uploads).collect();
    let mut described = json!({"name": entity.key});
    set_some(&mut described, "description", entity.description.as_deref());
    set(&mut described, "fields", scalars.chain(computed).collect::<Vec<_>>());
    set(&mut described, "joins", joins.collect::<Vec<_>>());
    set(&mut described, "listCapable", true);
    set(&mut described, "idField", members::id_names(entity));
    set_some(&mut described, "search", entity.search.is_some().then_some(true));
    set_some(&mut described, "uploads", Some(uploads).filter(|uploads| !uploads.is_empty()));
    set_some(&mut described, "writes", has_writes.then(|| rights::record_writes(entity)).flatten());
    described
}
