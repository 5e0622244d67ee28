//! How are records written, linked, and given files? `SPEC §9`, `SPEC §11`

use mesh_schema::{Cardinality, Entity, Link, Relation};
use serde_json::{Map, Value, json};

use super::Segment::{Any, Fixed};
use super::answer::{LINK, UPLOADED, id};
use super::failure::with;
use super::parameter::in_path;
use super::read::{good, json_body};
use super::{Api, Paths, component};

/// Whether an entity takes writes at all.
pub(super) fn takes_writes(entity: &Entity) -> bool {
    entity.id.is_some() && entity.fields.iter().any(|field| field.writable)
}

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
                "responses": with(self.options, json!({"201": made(&record)}), &["404", "409", "413", "415"]),
            });
            paths.add(self.path(&[Fixed(key)]), "post", create);
            let update = json!({
                "operationId": format!("{name}.update"),
                "tags": [key],
                "summary": format!("Changes a `{key}`; without a body reads it"),
                "parameters": self.shaped(&[&id]),
                "requestBody": written(),
                "responses": with(self.options, json!({"200": good("The record", &record)}), &["404", "409", "413", "415"]),
            });
            paths.add(self.path(&[Fixed(key), Any("id")]), "put", update);
            paths.add(
                self.path(&[Fixed(key), Any("id")]),
                "delete",
                self.removal(&format!("{name}.delete"), key, "Deletes it", &[&id]),
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
                    "summary": format!("Makes another record the `{own}` of a `{key}`"),
                    "parameters": self.shaped(&[&parent]),
                    "requestBody": link,
                    "responses": with(self.options, json!({"200": good("The related record", &record)}), &failures),
                });
                paths.add(at.clone(), "put", connect);
                paths.add(
                    at,
                    "delete",
                    self.removal(&operation("disconnect"), key, "Parts the two", &[&parent]),
                );
            }
            Cardinality::Many
                if (junction && takes_writes(entity)) || (!junction && takes_writes(target)) =>
            {
                let child = in_path("childId", &id(target));
                let (body, good, said) = if junction {
                    (
                        link,
                        json!({"204": {"description": "They are linked"}}),
                        format!("Links a record to the `{own}` of a `{key}`"),
                    )
                } else {
                    let body = json_body(&component("schemas", &format!("{target_name}.written")));
                    (body, json!({"201": made(&record)}), format!("Creates one of the `{own}` of a `{key}`"))
                };
                let attach = json!({
                    "operationId": operation("add"),
                    "tags": [key],
                    "summary": said,
                    "parameters": self.shaped(&[&parent]),
                    "requestBody": body,
                    "responses": with(self.options, good, &failures),
                });
                paths.add(at, "post", attach);
                let said = if junction { "Parts the two" } else { "Deletes the child" };
                let remove = self.removal(&operation("remove"), key, said, &[&parent, &child]);
                paths.add(self.path(&[Fixed(key), Any("id"), Fixed(own), Any("childId")]), "delete", remove);
            }
            Cardinality::One | Cardinality::Many => {}
        }
    }

    /// The headers of a write, after what stands in its path.
    fn shaped(&self, in_path: &[&Value]) -> Vec<Value> {
        let own = in_path.iter().map(|parameter| (*parameter).clone());
        own.chain([component("parameters", "Shape")]).chain(self.signed()).collect()
    }

    fn removal(&self, operation: &str, key: &str, said: &str, in_path: &[&Value]) -> Value {
        let own = in_path.iter().map(|parameter| (*parameter).clone());
        json!({
            "operationId": operation,
            "tags": [key],
            "summary": said,
            "parameters": own.chain(self.signed()).collect::<Vec<_>>(),
            "responses": with(self.options, json!({"204": {"description": "It is done"}}), &["404", "409"]),
        })
    }

    /// Files of the fields that take them, and where files are served.
    pub(super) fn uploads(&self, paths: &mut Paths, entity: &Entity, name: &str) {
        let key = &entity.key;
        let seen = |name: &str| entity.member(name).is_some();
        let fields: Vec<_> =
            entity.fields.iter().filter(|field| field.upload.is_some() && seen(&field.name)).collect();
        if fields.is_empty() || entity.id.is_none() {
            return;
        }
        let failures = ["403", "404", "409", "413", "415"];
        let headers = || std::iter::once(component("parameters", "Statement")).chain(self.signed());
        let stored = component("schemas", UPLOADED);
        let form = form();
        for field in fields {
            let id = in_path("id", &id(entity));
            let attach = json!({
                "operationId": format!("{name}.{}.upload", field.name),
                "tags": [key],
                "summary": format!("Sends the file of a record's `{}`", field.name),
                "parameters": std::iter::once(id).chain(headers()).collect::<Vec<_>>(),
                "requestBody": {"required": true, "content": form},
                "responses": with(self.options, json!({"200": good("It is stored", &stored)}), &failures),
            });
            paths.add(self.path(&[Fixed(key), Any("id"), Fixed(&field.name)]), "post", attach);
        }
        // With write routes on, the same path takes JSON too; the content type decides.
        let create = paths.find(&self.path(&[Fixed(key)]), "post");
        let content = create.and_then(|it| it.get_mut("requestBody")?.get_mut("content")?.as_object_mut());
        if let Some(content) = content {
            content.extend(form);
        } else {
            let create = json!({
                "operationId": format!("{name}.createWithFile"),
                "tags": [key],
                "summary": format!("Creates a `{key}` of a file and, in `meta`, further fields"),
                "parameters": headers().collect::<Vec<_>>(),
                "requestBody": {"required": true, "content": form},
                "responses": with(self.options, json!({"201": made(&stored)}), &failures),
            });
            paths.add(self.path(&[Fixed(key)]), "post", create);
        }
    }
}

impl Api<'_> {
    /// Where stored files are served.
    pub(super) fn files(&self, paths: &mut Paths) {
        let Some(segment) = &self.options.uploads else { return };
        let part = |name: &str, digits: u8| {
            in_path(name, &json!({"type": "string", "pattern": format!("^[0-9a-f]{{{digits}}}$")}))
        };
        let range = json!({"name": "Range", "in": "header", "required": false, "schema": {"type": "string"}});
        let parameters =
            [part("first", 2), part("rest", 62), range, component("parameters", "If-None-Match")];
        let bytes = |said: &str| {
            json!({
                "description": said,
                "headers": {"ETag": component("headers", "ETag")},
                "content": {"*/*": {"schema": {}}},
            })
        };
        let good = json!({
            "200": bytes("The file"),
            "206": bytes("A part of it"),
            "302": {"description": "It is in a bucket", "headers": {"Location": component("headers", "Location")}},
            "304": {"description": "It has not changed"},
        });
        let get = json!({
            "operationId": "mesh.file",
            "summary": "Serves a stored file; `sha256/{first}/{rest}` is its storage key",
            "parameters": parameters.into_iter().chain(self.signed()).collect::<Vec<_>>(),
            "responses": with(self.options, good, &["404", "416"]),
        });
        paths.add(self.path(&[Fixed(segment), Fixed("sha256"), Any("first"), Any("rest")]), "get", get);
    }
}

/// Whether the side of a to-one relation that stores it can be written.
fn can_be_set(entity: &Entity, relation: &Relation, target: &Entity) -> bool {
    let Link::Direct { pairs } = &relation.link else { return takes_writes(entity) };
    let writable = |entity: &Entity, column: &str| {
        let field = entity.field_of_column(column);
        takes_writes(entity) && field.is_none_or(|id| entity.field(id).writable)
    };
    pairs.iter().any(|pair| writable(entity, &pair.parent) || writable(target, &pair.target))
}

/// A response that says where the new record is.
fn made(schema: &Value) -> Value {
    let mut made = good("The new record", schema);
    if let Some(headers) = made.get_mut("headers").and_then(Value::as_object_mut) {
        headers.insert("Location".to_owned(), component("headers", "Location"));
    }
    made
}

/// A form with a file.
fn form() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "file": {"type": "string", "contentMediaType": "application/octet-stream"},
            "meta": {"type": "object", "description": "further fields of the record"},
        },
        "required": ["file"],
        "additionalProperties": false,
    });
    let mut form = Map::new();
    form.insert("multipart/form-data".to_owned(), json!({"schema": schema}));
    form
}
