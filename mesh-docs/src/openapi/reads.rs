//! Read and event operations. `SPEC §2`, `SPEC §10`

use mesh_plan::persisted::Registration;
use mesh_schema::{Entity, FieldType};
use serde_json::{Value, json};

use super::components::{GROUP, PAGE_INFO, cacheable, id, id_in_body, json_body};
use super::parameters::in_path;
use super::{Api, component};
use crate::json::set;

impl Api<'_> {
    pub(super) fn reads(&mut self, entity: &Entity, name: &str) {
        let key = &entity.key;
        let record = component("schemas", name);
        let page = json!({
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"anyOf": [record, component("schemas", GROUP)]}},
                "pageInfo": component("schemas", PAGE_INFO),
            },
            "required": ["items", "pageInfo"],
            "additionalProperties": false,
        });
        let mut responses = cacheable("A page", &page);
        if let Some(content) = responses.pointer_mut("/200/content") {
            for (media_type, description) in self.forms_of_lists() {
                set(content, media_type, json!({"schema": {"type": "string", "description": description}}));
            }
        }
        let resumed: &[_] = if self.options.events { &["Last-Event-ID"] } else { &[] };
        let list = json!({
            "operationId": format!("{name}.list"),
            "tags": [key],
            "summary": format!("Reads a page of `{key}`"),
            "parameters": self.read_headers(&[&["If-None-Match"], resumed].concat()),
            "responses": self.responses(responses, &[]),
        });
        let path = self.path(key);
        self.add(&path, "get", list);
        if !entity.id.is_empty() {
            self.point_reads(entity, name, &format!("{path}/{{id}}"));
        }
    }

    /// Returns the media types, besides JSON, in which a list can be read. `SPEC §10.6`, `SPEC §16`
    fn forms_of_lists(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let events = [(
            "text/event-stream",
            "Events: `update` with the page, at the start and after each change; `error`",
        )];
        let exports = [
            ("application/x-ndjson", "All records, each a line of JSON, for a query without `$page`"),
            ("text/csv", "All records, after a line of names, for a query without `$page`"),
        ];
        let events = events.into_iter().filter(|_| self.options.events);
        events.chain(exports.into_iter().filter(|_| self.options.exports))
    }

    fn point_reads(&mut self, entity: &Entity, name: &str, path: &str) {
        let key = &entity.key;
        let one = json!({"anyOf": [component("schemas", name), {"type": "null"}]});
        let id = in_path("id", &id(entity));
        let with_id = |headers: Vec<Value>| [vec![id.clone()], headers].concat();
        let description = "The record, or `null` where there is none";
        let point = json!({
            "operationId": format!("{name}.read"),
            "tags": [key],
            "summary": format!("Reads one `{key}`"),
            "parameters": with_id(self.read_headers(&["If-None-Match"])),
            "responses": self.responses(cacheable(description, &one), &[]),
        });
        self.add(path, "get", point);
        if !self.options.mutations {
            let put = json!({
                "operationId": format!("{name}.readByPut"),
                "tags": [key],
                "summary": format!("Reads one `{key}`, for clients that prefer PUT"),
                "parameters": with_id(self.read_headers(&[])),
                "responses": self.ok(description, &one, &[]),
            });
            self.add(path, "put", put);
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
                "responses": self.responses(json!({"200": stream}), &[]),
            });
            self.add(&format!("{path}/events"), "get", events);
        }
    }

    /// Adds reads by POST and the registration of queries.
    pub(super) fn reads_by_post(&mut self) {
        let options = self.options;
        let query = json!({"type": "string", "description": "the query text"});
        let format = json!({"enum": ["json", "ql"], "default": "json"});
        if !options.only {
            let body = json!({
                "type": "object",
                "properties": {
                    "query": query, "format": format, "id": id_in_body(),
                    "params": {"type": "object", "description": "The values of the query's parameters"},
                },
                "required": ["query"],
            });
            let any = json!({"description": "a page, or for an id a record or `null`"});
            let read = json!({
                "operationId": "mesh.read",
                "summary": "Reads by a query in the body, which may be longer than a header; with an id, reads one record",
                "parameters": self.with_common([]),
                "requestBody": json_body(&body),
                "responses": self.ok("The result", &any, &["413", "415"]),
            });
            self.add(if options.base.is_empty() { "/" } else { &options.base }, "post", read);
        }
        if let Some(registration) = options.persisted.filter(|it| *it != Registration::Closed) {
            let types: Vec<_> = FieldType::ALL.iter().map(|ty| ty.as_str()).collect();
            let declared = json!({
                "type": "object",
                "description": "Declared parameters, with the values that are used if a request has none",
                "additionalProperties": {
                    "type": "object", "properties": {"type": {"enum": types}, "default": true},
                    "required": ["type"], "additionalProperties": false,
                },
            });
            let body = json!({
                "type": "object", "properties": {"query": query, "format": format, "params": declared},
                "required": ["query"],
            });
            let id = json!({
                "type": "object", "properties": {"id": {"type": "string", "pattern": "^q_[0-9a-f]{32}$"}}, "required": ["id"],
            });
            let mut register = json!({
                "operationId": "mesh.register",
                "summary": "Registers a query for reads by id",
                "parameters": self.with_common([]),
                "requestBody": json_body(&body),
                "responses": self.ok("The id, which is equal for equal queries", &id, &["403", "413", "415"]),
            });
            if registration == Registration::Open {
                set(&mut register, "security", json!([]));
                return self.add(&self.path("queries"), "post", register);
            }
            self.add_write(&self.path("queries"), "post", register);
        }
    }
}
