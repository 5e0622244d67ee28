//! Parts that several operations share.

use mesh_schema::{Entity, FieldType};
use serde_json::{Value, json};

use super::component;

/// Names of the schemas that do not depend on the entities. Names of entities have no dot.
pub(super) const ERROR: &str = "mesh.error";
pub(super) const PAGE_INFO: &str = "mesh.pageInfo";
pub(super) const GROUP: &str = "mesh.group";
pub(super) const UPLOADED: &str = "mesh.uploaded";
pub(super) const LINK: &str = "mesh.link";

/// Whether an entity has any write route.
pub(super) fn takes_writes(entity: &Entity) -> bool {
    entity.id.is_some() && entity.fields.iter().any(|field| field.writable)
}

/// Returns the type of an entity's ids in paths.
pub(super) fn id(entity: &Entity) -> Value {
    let ty = entity.id.and_then(|id| entity.field(id).ty);
    match ty {
        Some(FieldType::Integer) => json!({"type": "integer", "format": "int64"}),
        Some(FieldType::Uuid) => json!({"type": "string", "format": "uuid"}),
        _ => json!({"type": "string"}),
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
    let mut response = json_response(description, schema);
    let tag = component("headers", "ETag");
    if let Some(headers) = response.get_mut("headers").and_then(Value::as_object_mut) {
        headers.insert("ETag".to_owned(), tag.clone());
    }
    json!({"200": response, "304": {"description": "Not changed", "headers": {"ETag": tag}}})
}

/// Returns a required JSON body.
pub(super) fn json_body(schema: &Value) -> Value {
    json!({"required": true, "content": {"application/json": {"schema": schema}}})
}
