//! Parts that several operations share.

use mesh_schema::{Entity, Field, FieldType};
use serde_json::{Value, json};

use super::component;
use crate::json::set;

/// Names of the schemas that do not depend on the entities.
pub(super) const ERROR: &str = "mesh.error";
pub(super) const PAGE_INFO: &str = "mesh.pageInfo";
pub(super) const GROUP: &str = "mesh.group";
pub(super) const UPLOADED: &str = "mesh.uploaded";
pub(super) const LINK: &str = "mesh.link";
/// All of them, and the first part of the ids of operations that do not depend on an entity.
pub(super) const OWN: [&str; 6] = ["mesh", ERROR, PAGE_INFO, GROUP, UPLOADED, LINK];

/// Returns the type of an entity's ids in paths. For a key of several fields it is an array, whose items are joined by
/// commas in a path. `SPEC §15`
pub(super) fn id(entity: &Entity) -> Value {
    let parts: Vec<_> = entity.id_fields().map(part).collect();
    match <[Value; 1]>::try_from(parts) {
        Ok([part]) => part,
        Err(parts) => {
            let count = parts.len();
            json!({"type": "array", "prefixItems": parts, "items": {}, "minItems": count, "maxItems": count})
        }
    }
}

/// Returns the type of one field of ids in paths.
fn part(field: &Field) -> Value {
    match field.ty {
        Some(FieldType::Integer) => json!({"type": "integer", "format": "int64"}),
        Some(FieldType::Unsigned) => json!({"type": "integer", "minimum": 0}),
        Some(FieldType::Uuid) => json!({"type": "string", "format": "uuid"}),
        _ => json!({"type": "string"}),
    }
}

/// Returns the type of ids in bodies.
pub(super) fn id_in_body() -> Value {
    json!({"type": ["string", "number", "array"], "items": {"type": ["string", "number", "boolean"]}})
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
