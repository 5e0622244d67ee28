//! Session and playground operations. `SPEC §7`, `SPEC §13`

use serde_json::json;

use super::components::{id_in_body, json_body};
use super::{Api, component, security};

impl Api<'_> {
    pub(super) fn sessions(&mut self) {
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
        let login = json!({
            "operationId": "mesh.login",
            "summary": if self.options.bearers { "Starts a session, with credentials or with a bearer and {}" } else { "Starts a session" },
            "security": security::login_requirements(self.options),
            "parameters": [component("parameters", "X-Request-Id")],
            "requestBody": json_body(&credentials),
            "responses": self.ok("The session", &session, &["413", "415"]),
        });
        self.add(&self.path("auth"), "post", login);
        let ended = json!({"type": "object", "properties": {"loggedOut": {"const": true}}, "required": ["loggedOut"]});
        let logout = json!({
            "operationId": "mesh.logout",
            "summary": "Revokes the session on all servers",
            "security": [{"token": []}, {"token": [], "signature": []}],
            "parameters": self.with_common([]),
            "responses": self.ok("The session is revoked", &ended, &[]),
        });
        self.add(&self.path("logout"), "post", logout);
    }

    pub(super) fn playground(&mut self) {
        let Some(docs) = &self.options.docs else { return };
        let security =
            if self.options.docs_guarded { security::docs_requirements(self.options) } else { json!([]) };
        let page = json!({
            "operationId": "mesh.playground",
            "summary": "The playground",
            "security": [],
            "responses": {"200": {"description": "The page", "content": {"text/html": {"schema": {"type": "string"}}}}},
        });
        self.add(docs, "get", page);
        let document = json!({
            "type": "object",
            "properties": {"title": {}, "query": {"type": "object"}, "entities": {"type": "array"}},
            "required": ["query", "entities"],
        });
        let schema = json!({
            "operationId": "mesh.introspect",
            "summary": "Returns the schema",
            "security": security,
            "responses": self.ok("The schema as clients see it", &document, &[]),
        });
        self.add(&format!("{docs}/schema"), "get", schema);
        let body = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "format": {"enum": ["json", "ql"], "default": "json"},
                "id": id_in_body(),
            },
            "required": ["query"],
        });
        let answer = json!({"type": "object", "properties": {"data": {}, "meta": {"type": "object"}}, "required": ["data", "meta"]});
        let execute = json!({
            "operationId": "mesh.execute",
            "summary": "Runs a query",
            "security": security,
            "requestBody": json_body(&body),
            "responses": self.ok("The result and metadata", &answer, &["413", "415"]),
        });
        self.add(&format!("{docs}/execute"), "post", execute);
    }
}
