//! Session and playground operations. `SPEC §7`, `SPEC §13`

use serde_json::json;

use super::Segment::Fixed;
use super::components::{json_body, json_response};
use super::failures::with;
use super::{Api, Paths, component};

impl Api<'_> {
    pub(super) fn sessions(&self, paths: &mut Paths) {
        if self.options.integrity.is_none() {
            return;
        }
        let text = json!({"type": "string"});
        let credentials = json!({"type": "object", "properties": {"login": text, "password": text}});
        let session = json!({
            "type": "object",
            "properties": {
                "signingToken": text,
                "token": text,
                "expiresAt": {"type": "integer", "description": "milliseconds since the Unix epoch"},
            },
            "required": ["signingToken", "token", "expiresAt"],
        });
        let failures = ["413", "415", "429"];
        let id = component("parameters", "X-Request-Id");
        let login = json!({
            "operationId": "mesh.login",
            "summary": "Starts a session",
            "security": [],
            "parameters": [id],
            "requestBody": json_body(&credentials),
            "responses": with(self.options, json!({"200": json_response("The session", &session)}), &failures),
        });
        paths.add(self.path(&[Fixed("auth")]), "post", login);
        let ended = json!({"type": "object", "properties": {"loggedOut": {"const": true}}, "required": ["loggedOut"]});
        let logout = json!({
            "operationId": "mesh.logout",
            "summary": "Revokes the session on all servers",
            "security": [{"token": []}, {"token": [], "signature": []}],
            "parameters": self.common_headers().collect::<Vec<_>>(),
            "responses": with(self.options, json!({"200": json_response("The session is revoked", &ended)}), &[]),
        });
        paths.add(self.path(&[Fixed("logout")]), "post", logout);
    }

    pub(super) fn playground(&self, paths: &mut Paths) {
        let Some(docs) = &self.options.docs else { return };
        let security = if self.options.docs_guarded { json!([{"token": []}]) } else { json!([]) };
        let page = json!({
            "operationId": "mesh.playground",
            "summary": "The playground",
            "security": [],
            "responses": {"200": {"description": "The page", "content": {"text/html": {"schema": {"type": "string"}}}}},
        });
        paths.add(docs.clone(), "get", page);
        let document = json!({
            "type": "object",
            "properties": {"title": {}, "query": {"type": "object"}, "entities": {"type": "array"}},
            "required": ["query", "entities"],
        });
        let schema = json!({
            "operationId": "mesh.introspect",
            "summary": "Returns the schema",
            "security": security,
            "responses": with(self.options, json!({"200": json_response("The schema as clients see it", &document)}), &[]),
        });
        paths.add(format!("{docs}/schema"), "get", schema);
        let body = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "format": {"enum": ["json", "ql"], "default": "json"},
                "id": {"type": ["string", "number"]},
            },
            "required": ["query"],
        });
        let answer = json!({"type": "object", "properties": {"data": {}, "meta": {"type": "object"}}, "required": ["data", "meta"]});
        let execute = json!({
            "operationId": "mesh.execute",
            "summary": "Runs a query",
            "security": security,
            "requestBody": json_body(&body),
            "responses": with(self.options, json!({"200": json_response("The result and metadata", &answer)}), &["413", "415"]),
        });
        paths.add(format!("{docs}/execute"), "post", execute);
    }
}
