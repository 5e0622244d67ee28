//! How are records read, listed and followed? `SPEC §2`, `SPEC §10`

use mesh_schema::Entity;
use serde_json::{Value, json};

use super::Segment::{Any, Fixed};
use super::answer::{GROUP, PAGE_INFO, id};
use super::failure::with;
use super::parameter::in_path;
use super::{Api, Paths, component};

impl Api<'_> {
    pub(super) fn reads(&self, paths: &mut Paths, entity: &Entity, name: &str) {
        let record = component("schemas", name);
        let key = &entity.key;
        let item = json!({"anyOf": [record, component("schemas", GROUP)]});
        let page = json!({
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": item},
                "pageInfo": component("schemas", PAGE_INFO),
            },
            "required": ["items", "pageInfo"],
            "additionalProperties": false,
        });
        let list = json!({
            "operationId": format!("{name}.list"),
            "tags": [key],
            "summary": format!("Reads a page of `{key}`"),
            "parameters": self.asked(&["If-None-Match"]),
            "responses": with(self.options, cached("A page", &page), &[]),
        });
        paths.add(self.path(&[Fixed(key)]), "get", list);
        if entity.id.is_none() {
            return;
        }
        let one = json!({"anyOf": [record, {"type": "null"}]});
        let id = in_path("id", &id(entity));
        let with_id = |mut headers: Vec<Value>| {
            headers.insert(0, id.clone());
            headers
        };
        let point = json!({
            "operationId": format!("{name}.read"),
            "tags": [key],
            "summary": format!("Reads one `{key}`"),
            "parameters": with_id(self.asked(&["If-None-Match"])),
            "responses": with(self.options, cached("The record, or `null` where there is none", &one), &[]),
        });
        let at = self.path(&[Fixed(key), Any("id")]);
        paths.add(at.clone(), "get", point);
        if !self.options.mutations {
            let put = json!({
                "operationId": format!("{name}.readByPut"),
                "tags": [key],
                "summary": format!("Reads one `{key}`, for clients that prefer PUT"),
                "parameters": with_id(self.asked(&[])),
                "responses": with(self.options, json!({"200": good("The record, or `null` where there is none", &one)}), &[]),
            });
            paths.add(at, "put", put);
        }
        if self.options.events {
            let stream = json!({
                "description": "Events: `update` with the record as data, at once and whenever it changes; `error`",
                "headers": {"X-Request-Id": component("headers", "X-Request-Id")},
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            });
            let events = json!({
                "operationId": format!("{name}.follow"),
                "tags": [key],
                "summary": format!("Follows one `{key}`"),
                "parameters": with_id(self.asked(&["Last-Event-ID"])),
                "responses": with(self.options, json!({"200": stream}), &[]),
            });
            paths.add(self.path(&[Fixed(key), Any("id"), Fixed("events")]), "get", events);
        }
    }

    /// Queries in bodies: read at once, or registered.
    pub(super) fn posted(&self, paths: &mut Paths) {
        let format = json!({"enum": ["json", "ql"], "default": "json"});
        let query = json!({"type": "string", "description": "the query's text"});
        if !self.options.only {
            let body = json!({
                "type": "object",
                "properties": {"query": query, "format": format, "id": {"type": ["string", "number"]}},
                "required": ["query"],
            });
            let any = json!({"description": "a page, or with an id a record or `null`"});
            let read = json!({
                "operationId": "mesh.read",
                "summary": "Reads by a query in the body, which may be longer than a header; with an id one record",
                "parameters": self.signed().collect::<Vec<_>>(),
                "requestBody": json_body(&body),
                "responses": with(self.options, json!({"200": good("What was asked for", &any)}), &["413", "415"]),
            });
            paths.add(self.path(&[]), "post", read);
        }
        if let Some(registration) = self.options.persisted.filter(|it| *it != mesh_plan::Registration::Closed)
        {
            let body = json!({"type": "object", "properties": {"query": query, "format": format}, "required": ["query"]});
            let id = json!({
                "type": "object", "properties": {"id": {"type": "string", "pattern": "^q_[0-9a-f]{32}$"}}, "required": ["id"],
            });
            let mut register = json!({
                "operationId": "mesh.register",
                "summary": "Registers a query, to be read by its id",
                "parameters": self.signed().collect::<Vec<_>>(),
                "requestBody": json_body(&body),
                "responses": with(self.options, json!({"200": good("Its id, the same for the same query", &id)}), &["403", "413", "415"]),
            });
            if let (Some(register), mesh_plan::Registration::Open) = (register.as_object_mut(), registration)
            {
                register.insert("security".to_owned(), json!([]));
            }
            paths.add(self.path(&[Fixed("queries")]), "post", register);
        }
    }
}

/// A response with JSON.
pub(super) fn good(said: &str, schema: &Value) -> Value {
    json!({
        "description": said,
        "headers": {"X-Request-Id": component("headers", "X-Request-Id")},
        "content": {"application/json": {"schema": schema}},
    })
}

/// A response with a tag, and that to who has it already.
fn cached(said: &str, schema: &Value) -> Value {
    let mut good = good(said, schema);
    let tag = component("headers", "ETag");
    if let Some(headers) = good.get_mut("headers").and_then(Value::as_object_mut) {
        headers.insert("ETag".to_owned(), tag.clone());
    }
    json!({"200": good, "304": {"description": "It has not changed", "headers": {"ETag": tag}}})
}

/// A body of JSON that has to be there.
pub(super) fn json_body(schema: &Value) -> Value {
    json!({"required": true, "content": {"application/json": {"schema": schema}}})
}
