//! Read and event operations. `SPEC §2`, `SPEC §10`

use mesh_schema::Entity;
use serde_json::{Value, json};

use super::Segment::{Any, Fixed};
use super::components::{GROUP, PAGE_INFO, cacheable, id, json_body, json_response};
use super::failures::with;
use super::parameters::in_path;
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
            "parameters": self.read_headers(&["If-None-Match"]),
            "responses": with(self.options, cacheable("A page", &page), &[]),
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
            "parameters": with_id(self.read_headers(&["If-None-Match"])),
            "responses": with(self.options, cacheable("The record, or `null` where there is none", &one), &[]),
        });
        let at = self.path(&[Fixed(key), Any("id")]);
        paths.add(at.clone(), "get", point);
        if !self.options.mutations {
            let put = json!({
                "operationId": format!("{name}.readByPut"),
                "tags": [key],
                "summary": format!("Reads one `{key}`, for clients that prefer PUT"),
                "parameters": with_id(self.read_headers(&[])),
                "responses": with(self.options, json!({"200": json_response("The record, or `null` where there is none", &one)}), &[]),
            });
            paths.add(at, "put", put);
        }
        if self.options.events {
            let stream = json!({
                "description": "Events: `update` with the record, at the start and after each change; `error`",
                "headers": {"X-Request-Id": component("headers", "X-Request-Id")},
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            });
            let events = json!({
                "operationId": format!("{name}.follow"),
                "tags": [key],
                "summary": format!("Follows one `{key}`"),
                "parameters": with_id(self.read_headers(&["Last-Event-ID"])),
                "responses": with(self.options, json!({"200": stream}), &[]),
            });
            paths.add(self.path(&[Fixed(key), Any("id"), Fixed("events")]), "get", events);
        }
    }

    /// Adds reads by POST and the registration of queries.
    pub(super) fn posted(&self, paths: &mut Paths) {
        let format = json!({"enum": ["json", "ql"], "default": "json"});
        let query = json!({"type": "string", "description": "the query text"});
        if !self.options.only {
            let body = json!({
                "type": "object",
                "properties": {"query": query, "format": format, "id": {"type": ["string", "number"]}},
                "required": ["query"],
            });
            let any = json!({"description": "a page, or for an id a record or `null`"});
            let read = json!({
                "operationId": "mesh.read",
                "summary": "Reads by a query in the body, which may be longer than a header; with an id, reads one record",
                "parameters": self.common_headers().collect::<Vec<_>>(),
                "requestBody": json_body(&body),
                "responses": with(self.options, json!({"200": json_response("The result", &any)}), &["413", "415"]),
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
                "summary": "Registers a query for reads by id",
                "parameters": self.common_headers().collect::<Vec<_>>(),
                "requestBody": json_body(&body),
                "responses": with(self.options, json!({"200": json_response("The id, which is equal for equal queries", &id)}), &["403", "413", "415"]),
            });
            if let (Some(register), mesh_plan::Registration::Open) = (register.as_object_mut(), registration)
            {
                register.insert("security".to_owned(), json!([]));
            }
            paths.add(self.path(&[Fixed("queries")]), "post", register);
        }
    }
}
