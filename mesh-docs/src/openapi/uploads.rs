//! Upload and download operations. `SPEC §9`

use mesh_schema::Entity;
use serde_json::{Value, json};

use super::components::{UPLOADED, created, id};
use super::parameters::in_path;
use super::{Api, component, segment};
use crate::json::set;
use crate::members;

const FORM: &str = "multipart/form-data";

impl Api<'_> {
    /// Adds uploads to the fields that accept files.
    pub(super) fn uploads(&mut self, entity: &Entity, name: &str) {
        let key = &entity.key;
        let fields: Vec<_> = members::fields(entity).filter(|field| field.upload.is_some()).collect();
        if fields.is_empty() || entity.id.is_empty() {
            return;
        }
        let path = self.path(key);
        let failures = ["403", "404", "409", "413", "415"];
        let stored = component("schemas", UPLOADED);
        let body = json!({"required": true, "content": {FORM: form()}});
        for field in fields.iter().filter(|field| !field.denied.update) {
            let attach = json!({
                "operationId": format!("{name}.{}.upload", field.name),
                "tags": [key],
                "summary": format!("Uploads a file to the `{}` of a record", field.name),
                "parameters": self.with_common([in_path("id", &id(entity)), component("parameters", "Statement")]),
                "requestBody": body,
                "responses": self.ok("The file is stored", &stored, &failures),
            });
            self.add_write(&format!("{path}/{{id}}/{}", segment(&field.name)), "post", attach);
        }
        if fields.iter().all(|field| field.denied.create) {
            return;
        }
        // With write routes enabled, the path also accepts JSON; the content type decides.
        let create =
            self.paths.get_mut(&path).and_then(|methods| methods.pointer_mut("/post/requestBody/content"));
        if let Some(content) = create {
            set(content, FORM, form());
        } else {
            let create = json!({
                "operationId": format!("{name}.createWithFile"),
                "tags": [key],
                "summary": format!("Creates a `{key}` from a file and the fields in `meta`"),
                "parameters": self.with_common([component("parameters", "Statement")]),
                "requestBody": body,
                "responses": self.responses(created(&stored), &failures),
            });
            self.add_write(&path, "post", create);
        }
    }

    /// Adds the route that serves stored files.
    pub(super) fn files(&mut self) {
        let Some(files) = &self.options.uploads else { return };
        let part = |name: &str, digits: u8| {
            in_path(name, &json!({"type": "string", "pattern": format!("^[0-9a-f]{{{digits}}}$")}))
        };
        let range = json!({"name": "Range", "in": "header", "required": false, "schema": {"type": "string"}});
        let own = [part("first", 2), part("rest", 62), range, component("parameters", "If-None-Match")];
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
            "parameters": self.with_common(own),
            "responses": self.responses(good, &["404", "416"]),
        });
        self.add(&format!("{}/sha256/{{first}}/{{rest}}", self.path(files)), "get", get);
    }
}

/// Returns the media type of a form with a file.
fn form() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "file": {"type": "string", "contentMediaType": "application/octet-stream"},
            "meta": {"type": "object", "description": "other fields of the record"},
        },
        "required": ["file"],
        "additionalProperties": false,
    });
    json!({"schema": schema})
}
