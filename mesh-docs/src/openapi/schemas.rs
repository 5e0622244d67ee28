//! Schemas of bodies: one per entity, and those that all entities share. `SPEC §5`

use mesh_schema::{Cardinality, Entity, Field, FieldType};
use serde_json::{Map, Value, json};

use super::components::{ERROR, GROUP, LINK, PAGE_INFO, UPLOADED, id_in_body};
use super::{Api, component};
use crate::json::set;
use crate::members;
use crate::rights::{is_creatable, is_updatable};

impl Api<'_> {
    pub(super) fn schemas(&self) -> Value {
        let mut all = Map::new();
        for (entity, name) in self.names.entities() {
            all.insert(name.to_owned(), self.record(entity));
            if self.options.mutations && is_creatable(entity) {
                all.insert(format!("{name}.created"), written(entity, |field| field.writable.create));
            }
            if self.options.mutations && is_updatable(entity) {
                all.insert(format!("{name}.updated"), written(entity, |field| field.writable.update));
            }
        }
        all.insert(PAGE_INFO.to_owned(), page_info());
        all.insert(GROUP.to_owned(), group());
        all.insert(ERROR.to_owned(), error());
        if self.options.mutations {
            let link = json!({"type": "object", "properties": {"entityId": id_in_body()}, "required": ["entityId"],
                "additionalProperties": false});
            all.insert(LINK.to_owned(), link);
        }
        if self.options.uploads.is_some() {
            all.insert(UPLOADED.to_owned(), uploaded());
        }
        all.into()
    }

    /// Returns the schema of a record. Responses contain the selected members.
    fn record(&self, entity: &Entity) -> Value {
        let mut properties = Map::new();
        for field in members::fields(entity) {
            properties.insert(field.name.clone(), value(field));
        }
        for computed in members::computed(entity) {
            let description = computed.description.as_deref().unwrap_or("computed");
            properties.insert(computed.name.clone(), json!({"readOnly": true, "description": description}));
        }
        for relation in members::relations(entity) {
            let target = component("schemas", self.names.get(relation.target));
            let leads = match relation.cardinality {
                Cardinality::One => json!({"anyOf": [target, {"type": "null"}]}),
                Cardinality::Many => {
                    let group = component("schemas", GROUP);
                    json!({"anyOf": [{"type": "array", "items": {"anyOf": [target, group]}}, group]})
                }
            };
            properties.insert(relation.name.clone(), leads);
        }
        let alias = json!({"description": "For an alias of the query: the value of its field or relation"});
        let mut record = json!({"type": "object", "properties": properties, "additionalProperties": alias});
        if let Some(description) = &entity.description {
            set(&mut record, "description", description.as_str());
        }
        record
    }
}

/// Returns the schema of the body of a write, with the fields that it may set.
fn written(entity: &Entity, is_writable: fn(&Field) -> bool) -> Value {
    let writable = members::fields(entity).filter(|field| is_writable(field));
    let properties: Map<_, _> = writable.map(|field| (field.name.clone(), value(field))).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Returns the schema of a field's values. `SPEC §5.5`
fn value(field: &Field) -> Value {
    use FieldType::{
        Bigint, Binary, Boolean, Date, Datetime, Decimal, Integer, Json, Number, String, Unsigned, Uuid,
    };
    let (mut types, more) = match field.ty {
        None => (vec!["string", "number", "boolean"], None),
        Some(Json) => (Vec::new(), None),
        Some(String) => (vec!["string"], None),
        Some(Integer) => (vec!["integer"], Some(("format", "int64"))),
        Some(Unsigned) => (vec!["integer", "string"], Some(("description", "text beyond 2^63-1"))),
        Some(Number) => (vec!["number"], Some(("format", "double"))),
        Some(Bigint) => (vec!["string"], Some(("pattern", "^-?[0-9]+$"))),
        Some(Boolean) => (vec!["boolean"], None),
        Some(Datetime) => (vec!["string"], Some(("description", "a time, ISO 8601"))),
        Some(Date) => (vec!["string"], Some(("format", "date"))),
        Some(Binary) => (vec!["string"], Some(("contentEncoding", "base64"))),
        Some(Uuid) => (vec!["string"], Some(("format", "uuid"))),
        Some(Decimal) => (vec!["string"], Some(("description", "a decimal number"))),
    };
    if field.reads_null {
        types.push("null");
    }
    let mut form: Map<_, _> = more.into_iter().map(|(key, text)| (key.to_owned(), json!(text))).collect();
    match types.as_slice() {
        // JSON columns contain any JSON value.
        _ if field.ty == Some(Json) => {}
        [one] => drop(form.insert("type".to_owned(), json!(one))),
        several => drop(form.insert("type".to_owned(), json!(several))),
    }
    if let Some(description) = &field.description {
        form.insert("description".to_owned(), description.as_str().into());
    }
    form.into()
}

fn page_info() -> Value {
    let cursor = json!({"type": ["string", "null"], "description": "opaque; `null` if and only if there are no items"});
    json!({
        "type": "object",
        "properties": {
            "hasNextPage": {"type": "boolean"},
            "hasPreviousPage": {"type": "boolean", "description": "only if the query asks for the last records or those before a cursor"},
            "startCursor": cursor,
            "endCursor": cursor,
            "totalCount": {"type": "integer", "minimum": 0, "description": "only if the query asks for it"},
        },
        "required": ["hasNextPage", "startCursor", "endCursor"],
    })
}

fn group() -> Value {
    json!({
        "type": "object",
        "description": "For queries with aggregates: the selected group keys and all aliases",
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    })
}

fn uploaded() -> Value {
    json!({
        "type": "object",
        "description": "Also contains the field with the storage key of the file and, for a new record, the id",
        "properties": {
            "contentHash": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
            "size": {"type": "integer"},
            "contentType": {"type": "string"},
            "url": {"type": "string"},
        },
        "required": ["contentHash", "size", "contentType", "url"],
    })
}

/// Returns the schema of error bodies.
fn error() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {"type": "string"},
            "message": {"type": "string"},
            "requestId": {"type": "string"},
            "code": {"type": "string", "description": "the precise cause", "examples": ["CURSOR_MISMATCH", "TOKEN_EXPIRED"]},
            "path": {"type": "string", "description": "the position in the query", "examples": ["post.comments.author"]},
            "step": {"type": "integer", "description": "The step of a batch that failed, counted from 0"},
            "effect": {
                "enum": ["none", "applied", "unknown"],
                "description": "what became of the write: nothing was written, it is in effect, or it may be; only in errors of \
                    requests that write",
            },
            "line": {"type": "integer", "minimum": 1},
            "column": {"type": "integer", "minimum": 1},
            "fields": {
                "type": "array",
                "description": "the fields of a write that are at fault",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "description": "the name of the field in the body", "examples": ["email"]},
                        "message": {"type": "string"},
                    },
                    "required": ["path", "message"],
                },
            },
        },
        "required": ["error", "message", "requestId"],
    })
}
