//! Parts that several operations share.

use mesh_schema::{Entity, FieldType};
use serde_json::{Value, json};

use super::component;
use crate::json::set;

/// Names of the schemas that do not depend on the entities. Names of entities have no dot.
pub(super) const ERROR: &str = "mesh.error";
pub(super) const PAGE_INFO: &str = "mesh.pageInfo";
pub(super) const GROUP: &str = "mesh.group";
pub(super) const UPLOADED: &str = "mesh.uploaded";
pub(super) const LINK: &str = "mesh.link";

/// Whether records of an entity can be created.
pub(super) fn is_creatable(entity: &Entity) -> bool {
    !entity.id.is_empty() && entity.is_creatable()
}

/// Whether records of an entity can be updated.
pub(super) fn is_updatable(entity: &Entity) -> bool {
    !entity.id.is_empty() && entity.is_updatable()
}

/// Returns the type of an entity's ids in paths.
pub(super) fn id(entity: &Entity) -> Value {
    let fields: Vec<_> = entity.id_fields().collect();
    match fields.as_slice() {
        [field] if field.ty == Some(FieldType::Integer) => json!({"type": "integer", "format": "int64"}),
        [field] if field.ty == Some(FieldType::Uuid) => json!({"type": "string", "format": "uuid"}),
        [_] => json!({"type": "string"}),
        fields => {
            let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
            let description = format!("{}: each percent-encoded, joined by commas", names.join(", "));
            json!({"type": "string", "description": description})
        }
    }
}

/// Returns a JSON response.
pub(super) fn json_response(description: &str, schema: &Value) -> Value {
    json!({
        "description": description,
        "headers": {"X-Request-Id": component("headers", "X-Request-Id")},
        "content": {"application/json": {"schema": schema}},
    })
}

/// Returns a JSON response with an `ETag`, and the response 304.
pub(super) fn cacheable(description: &str, schema: &Value) -> Value {
    let tag = component("headers", "ETag");
    let response = with_header(json_response(description, schema), "ETag");
    json!({"200": response, "304": {"description": "Not changed", "headers": {"ETag": tag}}})
}

/// Returns the response with a new record and its location.
pub(super) fn created(schema: &Value) -> Value {
    json!({"201": with_header(json_response("The new record", schema), "Location")})
}

fn with_header(mut response: Value, name: &str) -> Value {
    if let Some(headers) = response.get_mut("headers") {
        set(headers, name, component("headers", name));
    }
    response
}

/// Returns a required JSON body.
pub(super) fn json_body(schema: &Value) -> Value {
    json!({"required": true, "content": {"application/json": {"schema": schema}}})
}
