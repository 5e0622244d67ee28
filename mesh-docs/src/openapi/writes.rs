//! Write, link and upload operations. `SPEC §9`, `SPEC §11`

use mesh_schema::{Cardinality, Entity, Link, Relation};
use serde_json::{Map, Value, json};

use super::Segment::{Any, Fixed};
use super::components::{LINK, UPLOADED, id, json_body, json_response, takes_writes};
use super::failures::with;
use super::parameters::in_path;
use super::{Api, Paths, component};

impl Api<'_> {
    pub(super) fn writes(&self, paths: &mut Paths, entity: &Entity, name: &str) {
        let key = &entity.key;
        if takes_writes(entity) {
            let written = || json_body(&component("schemas", &format!("{name}.written")));
            let record = component("schemas", name);
            let id = in_path("id", &id(entity));
            let create = json!({
                "operationId": format!("{name}.create"),
                "tags": [key],
                "summary": format!("Creates a `{key}`"),
                "parameters": self.shaped(&[]),
                "requestBody": written(),
                "responses": with(self.options, json!({"201": created(&record)}), &["404", "409", "413", "415"]),
            });
            paths.add(self.path(&[Fixed(key)]), "post", create);
            let update = json!({
                "operationId": format!("{name}.update"),
                "tags": [key],
                "summary": format!("Updates a `{key}`; without a body, reads it"),
                "parameters": self.shaped(&[&id]),
                "requestBody": written(),
                "responses": with(self.options, json!({"200": json_response("The record", &record)}), &["404", "409", "413", "415"]),
            });
            paths.add(self.path(&[Fixed(key), Any("id")]), "put", update);
            paths.add(
                self.path(&[Fixed(key), Any("id")]),
                "delete",
                self.removal(&format!("{name}.delete"), key, "Deletes the record", &[&id]),
            );
        }
        for (relation, target, target_name) in self.relations(entity) {
            if entity.id.is_some() && target.id.is_some() {
                self.linked(paths, (entity, name), relation, (target, target_name));
            }
        }
    }

    fn linked(
        &self,
        paths: &mut Paths,
        (entity, name): (&Entity, &str),
        relation: &Relation,
        (target, target_name): (&Entity, &str),
    ) {
        let (key, own) = (&entity.key, &relation.name);
        let parent = in_path("id", &id(entity));
        let at = self.path(&[Fixed(key), Any("id"), Fixed(own)]);
        let operation = |what: &str| format!("{name}.{own}.{what}");
        let link = json_body(&component("schemas", LINK));
        let failures = ["404", "409", "413", "415"];
        let record = component("schemas", target_name);
        let junction = matches!(relation.link, Link::Through { .. });
        match relation.cardinality {
            Cardinality::One if can_be_set(entity, relation, target) => {
                let connect = json!({
                    "operationId": operation("connect"),
                    "tags": [key],
                    "summary": format!("Sets the `{own}` of a `{key}`"),
                    "parameters": self.shaped(&[&parent]),
                    "requestBody": link,
                    "responses": with(self.options, json!({"200": json_response("The related record", &record)}), &failures),
                });
                paths.add(at.clone(), "put", connect);
                paths.add(
                    at,
                    "delete",
                    self.removal(&operation("disconnect"), key, "Unlinks the records", &[&parent]),
                );
            }
            Cardinality::Many
                if (junction && takes_writes(entity)) || (!junction && takes_writes(target)) =>
            {
                let child = in_path("childId", &id(target));
                let (body, good, description) = if junction {
                    (
                        link,
                        json!({"204": {"description": "The records are linked"}}),
                        format!("Links a record to the `{own}` of a `{key}`"),
                    )
                } else {
                    let body = json_body(&component("schemas", &format!("{target_name}.written")));
                    (
                        body,
                        json!({"201": created(&record)}),
                        format!("Creates a record in the `{own}` of a `{key}`"),
                    )
                };
                let attach = json!({
                    "operationId": operation("add"),
                    "tags": [key],
                    "summary": description,
                    "parameters": self.shaped(&[&parent]),
                    "requestBody": body,
                    "responses": with(self.options, good, &failures),
                });
                paths.add(at, "post", attach);
                let description = if junction { "Unlinks the records" } else { "Deletes the child" };
                let remove = self.removal(&operation("remove"), key, description, &[&parent, &child]);
                paths.add(self.path(&[Fixed(key), Any("id"), Fixed(own), Any("childId")]), "delete", remove);
            }
            Cardinality::One | Cardinality::Many => {}
        }
    }

    /// Returns the parameters of a write: those of the path, then the headers.
    fn shaped(&self, in_path: &[&Value]) -> Vec<Value> {
        let own = in_path.iter().map(|parameter| (*parameter).clone());
        own.chain([component("parameters", "Shape")]).chain(self.common_headers()).collect()
    }

    fn removal(&self, operation: &str, key: &str, description: &str, in_path: &[&Value]) -> Value {
        let own = in_path.iter().map(|parameter| (*parameter).clone());
        json!({
            "operationId": operation,
            "tags": [key],
            "summary": description,
            "parameters": own.chain(self.common_headers()).collect::<Vec<_>>(),
            "responses": with(self.options, json!({"204": {"description": "Done"}}), &["404", "409"]),
        })
    }

    /// Adds uploads to the fields that accept files.
    pub(super) fn uploads(&self, paths: &mut Paths, entity: &Entity, name: &str) {
        let key = &entity.key;
        let seen = |name: &str| entity.member(name).is_some();
        let fields: Vec<_> =
            entity.fields.iter().filter(|field| field.upload.is_some() && seen(&field.name)).collect();
        if fields.is_empty() || entity.id.is_none() {
            return;
        }
        let failures = ["403", "404", "409", "413", "415"];
        let headers = || std::iter::once(component("parameters", "Statement")).chain(self.common_headers());
        let stored = component("schemas", UPLOADED);
        let form = form();
        for field in fields {
            let id = in_path("id", &id(entity));
            let attach = json!({
                "operationId": format!("{name}.{}.upload", field.name),
                "tags": [key],
                "summary": format!("Uploads a file to the `{}` of a record", field.name),
                "parameters": std::iter::once(id).chain(headers()).collect::<Vec<_>>(),
                "requestBody": {"required": true, "content": form},
                "responses": with(self.options, json!({"200": json_response("The file is stored", &stored)}), &failures),
            });
            paths.add(self.path(&[Fixed(key), Any("id"), Fixed(&field.name)]), "post", attach);
        }
        // With write routes enabled, the path also accepts JSON; the content type decides.
        let create = paths.find(&self.path(&[Fixed(key)]), "post");
        let content = create.and_then(|it| it.get_mut("requestBody")?.get_mut("content")?.as_object_mut());
        if let Some(content) = content {
            content.extend(form);
        } else {
            let create = json!({
                "operationId": format!("{name}.createWithFile"),
                "tags": [key],
                "summary": format!("Creates a `{key}` from a file and the fields in `meta`"),
                "parameters": headers().collect::<Vec<_>>(),
                "requestBody": {"required": true, "content": form},
                "responses": with(self.options, json!({"201": created(&stored)}), &failures),
            });
            paths.add(self.path(&[Fixed(key)]), "post", create);
        }
    }
}

impl Api<'_> {
    /// Adds the route that serves stored files.
    pub(super) fn files(&self, paths: &mut Paths) {
        let Some(segment) = &self.options.uploads else { return };
        let part = |name: &str, digits: u8| {
            in_path(name, &json!({"type": "string", "pattern": format!("^[0-9a-f]{{{digits}}}$")}))
        };
        let range = json!({"name": "Range", "in": "header", "required": false, "schema": {"type": "string"}});
        let parameters =
            [part("first", 2), part("rest", 62), range, component("parameters", "If-None-Match")];
        let bytes = |description: &str| {
            json!({
                "description": description,
                "headers": {"ETag": component("headers", "ETag")},
                "content": {"*/*": {"schema": {}}},
            })
        };
        let good = json!({
            "200": bytes("The file"),
            "206": bytes("A range of the file"),
            "302": {"description": "The file is stored in a bucket", "headers": {"Location": component("headers", "Location")}},
            "304": {"description": "Not changed"},
        });
        let get = json!({
            "operationId": "mesh.file",
            "summary": "Serves a stored file; `sha256/{first}/{rest}` is its storage key",
            "parameters": parameters.into_iter().chain(self.common_headers()).collect::<Vec<_>>(),
            "responses": with(self.options, good, &["404", "416"]),
        });
        paths.add(self.path(&[Fixed(segment), Fixed("sha256"), Any("first"), Any("rest")]), "get", get);
    }
}

/// Whether the columns that store a to-one relation are writable.
fn can_be_set(entity: &Entity, relation: &Relation, target: &Entity) -> bool {
    let Link::Direct { pairs } = &relation.link else { return takes_writes(entity) };
    let writable = |entity: &Entity, column: &str| {
        let field = entity.field_of_column(column);
        takes_writes(entity) && field.is_none_or(|id| entity.field(id).writable)
    };
    pairs.iter().any(|pair| writable(entity, &pair.parent) || writable(target, &pair.target))
}

/// Returns the response with a new record and its location.
fn created(schema: &Value) -> Value {
    let mut response = json_response("The new record", schema);
    if let Some(headers) = response.get_mut("headers").and_then(Value::as_object_mut) {
        headers.insert("Location".to_owned(), component("headers", "Location"));
    }
    response
}

/// Returns a form with a file.
fn form() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "file": {"type": "string", "contentMediaType": "application/octet-stream"},
            "meta": {"type": "object", "description": "other fields of the record"},
        },
        "required": ["file"],
        "additionalProperties": false,
    });
    let mut form = Map::new();
    form.insert("multipart/form-data".to_owned(), json!({"schema": schema}));
    form
}
