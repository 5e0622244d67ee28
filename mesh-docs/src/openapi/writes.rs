//! Write and link operations. `SPEC §11`

use mesh_schema::{Cardinality, Entity, Link, Relation};
use serde_json::{Value, json};

use super::components::{LINK, created, id, json_body, json_response};
use super::parameters::in_path;
use super::{Api, component, segment};
use crate::members;
use crate::rights::{self, RelationWrite, is_creatable, is_updatable};

/// Error statuses of writes with a body.
const FAILURES: [&str; 4] = ["404", "409", "413", "415"];

impl Api<'_> {
    pub(super) fn writes(&mut self, entity: &Entity, name: &str) {
        let key = &entity.key;
        let path = self.path(key);
        let record_path = format!("{path}/{{id}}");
        let parent = in_path("id", &id(entity));
        let record = component("schemas", name);
        let body = |kind: &str| json_body(&component("schemas", &format!("{name}.{kind}")));
        if is_creatable(entity) {
            let fields = component("schemas", &format!("{name}.created"));
            let create = json!({
                "operationId": format!("{name}.create"),
                "tags": [key],
                "summary": format!("Creates a `{key}`, or several of an array, all or none"),
                "parameters": self.shaped(None),
                "requestBody": json_body(&one_or_many(&fields)),
                "responses": self.responses(created(&one_or_many(&record)), &FAILURES),
            });
            self.add_write(&path, "post", create);
        }
        if is_updatable(entity) {
            let mut parameters = self.shaped(Some(&parent));
            let mut replies = json!({"200": json_response("The record", &record)});
            if is_creatable(entity) && entity.id_fields().all(|field| field.writable.create) {
                parameters.push(json!({
                    "name": "Prefer",
                    "in": "header",
                    "description": "Creates the record if there is none with this id",
                    "schema": {"const": "resolution=merge-duplicates"},
                }));
                if let (Some(replies), Value::Object(created)) = (replies.as_object_mut(), created(&record)) {
                    replies.extend(created);
                }
            }
            let update = json!({
                "operationId": format!("{name}.update"),
                "tags": [key],
                "summary": format!("Updates a `{key}`; without a body, reads it"),
                "parameters": conditional(parameters),
                "requestBody": body("updated"),
                "responses": self.responses(replies, &["404", "409", "412", "413", "415"]),
            });
            self.add_write(&record_path, "put", update);
        }
        if !entity.id.is_empty() && entity.deletable {
            let delete = json!({
                "operationId": format!("{name}.delete"),
                "tags": [key],
                "summary": "Deletes the record",
                "parameters": conditional(self.shaped(Some(&parent))),
                "responses": self.responses(done(), &["404", "409", "412"]),
            });
            self.add_write(&record_path, "delete", delete);
        }
        if entity.id.is_empty() {
            return;
        }
        for relation in members::relations(entity) {
            let target = self.schema.entity(relation.target);
            let path = format!("{record_path}/{}", segment(&relation.name));
            match relation.cardinality {
                _ if target.id.is_empty() => {}
                Cardinality::One => self.connect((entity, name), relation, &path, parent.clone()),
                Cardinality::Many => self.add_child((entity, name), relation, &path, parent.clone()),
            }
        }
    }

    /// Adds the route of batches. `SPEC §18.4`
    pub(super) fn batch(&mut self) {
        let step = json!({
            "type": "object",
            "properties": {
                "method": {"enum": ["GET", "POST", "PUT", "DELETE"]},
                "path": {"type": "string", "description": "The path below the base path"},
                "body": {"type": "object"},
                "query": {"type": "string", "description": "The query of a read, or the one that shapes the result of a write"},
                "queryId": {"type": "string", "description": "The id of a registered query, in place of the query of a read"},
                "params": {"type": "object", "description": "The values of the parameters of a read's query"},
                "format": {"enum": ["json", "ql"], "default": "json"},
                "as": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$", "description": "The name of the result, of which `$name.field` in later steps is a field"},
            },
            "required": ["method", "path"],
            "additionalProperties": false,
        });
        let steps = json!({"type": "array", "items": step, "minItems": 1, "maxItems": 100});
        let result = json!({
            "type": "object",
            "properties": {"status": {"type": "integer"}, "body": {}},
            "required": ["status"],
        });
        let results = json!({"type": "array", "items": result});
        let body = |name: &str, list: &Value| json!({"type": "object", "properties": {name: list}, "required": [name]});
        let operation = |parameters: Vec<Value>, failures: &[&str]| {
            json!({
                "operationId": "mesh.batch",
                "summary": "Runs reads and writes in one transaction",
                "parameters": parameters,
                "requestBody": json_body(&body("steps", &steps)),
                "responses": self.ok("The results of the steps", &body("results", &results), failures),
            })
        };
        let path = self.path("batch");
        if self.options.mutations {
            self.add_write(&path, "post", operation(self.with_write_headers([]), &FAILURES));
        } else {
            self.add(&path, "post", operation(self.with_common([]), &["413", "415"]));
        }
    }

    /// Adds the operations that set and clear a to-one relation.
    fn connect(&mut self, (entity, name): (&Entity, &str), relation: &Relation, path: &str, parent: Value) {
        let (key, own) = (&entity.key, &relation.name);
        let writes = rights::relation_writes(entity, relation, self.schema.entity(relation.target));
        if !writes.contains(&RelationWrite::Set) {
            return;
        }
        let record = component("schemas", self.names.get(relation.target));
        let connect = json!({
            "operationId": format!("{name}.{own}.connect"),
            "tags": [key],
            "summary": format!("Sets the `{own}` of a `{key}`"),
            "parameters": self.shaped(Some(&parent)),
            "requestBody": json_body(&component("schemas", LINK)),
            "responses": self.ok("The related record", &record, &FAILURES),
        });
        self.add_write(path, "put", connect);
        let operation = format!("{name}.{own}.disconnect");
        self.add_write(path, "delete", self.removal(&operation, key, "Unlinks the records", vec![parent]));
    }

    /// Adds the operations that add and remove records of a to-many relation.
    fn add_child(&mut self, (entity, name): (&Entity, &str), relation: &Relation, path: &str, parent: Value) {
        let (key, own) = (&entity.key, &relation.name);
        let target = self.schema.entity(relation.target);
        let is_junction = matches!(relation.link, Link::Through { .. });
        let writes = rights::relation_writes(entity, relation, target);
        let [can_add, can_remove] = if is_junction {
            [writes.contains(&RelationWrite::Link); 2]
        } else {
            [RelationWrite::Create, RelationWrite::Delete].map(|write| writes.contains(&write))
        };
        let child = in_path("childId", &id(target));
        let target = self.names.get(relation.target);
        let (schema, good, summary, removal) = if is_junction {
            let good = json!({"204": {"description": "The records are linked"}});
            (
                LINK.to_owned(),
                good,
                format!("Links a record to the `{own}` of a `{key}`"),
                "Unlinks the records",
            )
        } else {
            let good = created(&component("schemas", target));
            let summary = format!("Creates a record in the `{own}` of a `{key}`");
            (format!("{target}.created"), good, summary, "Deletes the child")
        };
        if can_add {
            let add = json!({
                "operationId": format!("{name}.{own}.add"),
                "tags": [key],
                "summary": summary,
                "parameters": self.shaped(Some(&parent)),
                "requestBody": json_body(&component("schemas", &schema)),
                "responses": self.responses(good, &FAILURES),
            });
            self.add_write(path, "post", add);
        }
        if can_remove {
            let remove = self.removal(&format!("{name}.{own}.remove"), key, removal, vec![parent, child]);
            self.add_write(&format!("{path}/{{childId}}"), "delete", remove);
        }
    }

    /// Returns the parameters of a write: the path parameter, if any, then the headers.
    fn shaped(&self, in_path: Option<&Value>) -> Vec<Value> {
        self.with_write_headers(in_path.cloned().into_iter().chain([component("parameters", "Shape")]))
    }

    fn removal(&self, operation: &str, key: &str, description: &str, in_path: Vec<Value>) -> Value {
        json!({
            "operationId": operation,
            "tags": [key],
            "summary": description,
            "parameters": self.with_write_headers(in_path),
            "responses": self.responses(done(), &["404", "409"]),
        })
    }
}

/// Returns the schema of an object, or of an array of such objects.
fn one_or_many(schema: &Value) -> Value {
    json!({"oneOf": [schema, {"type": "array", "items": schema, "minItems": 1, "maxItems": 1_000}]})
}

/// Adds the parameter of conditional writes.
fn conditional(mut parameters: Vec<Value>) -> Vec<Value> {
    parameters.push(component("parameters", "If-Match"));
    parameters
}

fn done() -> Value {
    json!({"204": {"description": "Done"}})
}
