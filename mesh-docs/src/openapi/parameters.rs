//! Headers of requests and responses. `SPEC §2`, `SPEC §7`, `SPEC §12.3`

use serde_json::{Map, Value, json};

use super::{Api, Bound, component};

impl Api<'_> {
    /// Returns the parameters that operations refer to.
    pub(super) fn parameters(&self) -> Value {
        let options = self.options;
        let mut all = Map::new();
        let mut add = |name: &str, required: bool, description: &str, schema: Value| {
            let parameter = json!({"name": name, "in": "header", "required": required, "description": description, "schema": schema});
            all.insert(name.to_owned(), parameter);
        };
        let text = || json!({"type": "string"});
        let query =
            json!({"type": "string", "contentEncoding": "base64", "contentMediaType": "application/json"});
        if !options.only {
            let or = if options.persisted.is_some() { ", unless its id is sent" } else { "" };
            let description = format!("The query in base64{or}");
            add("X-Mesh-Query", options.persisted.is_none(), &description, query.clone());
            add(
                "X-Mesh-Format",
                false,
                "The format of the query",
                json!({"enum": ["json", "ql"], "default": "json"}),
            );
        }
        if options.persisted.is_some() {
            let or = if options.only { "" } else { ", in place of the query" };
            let description = format!("The id of a registered query{or}");
            add("X-Mesh-Query-Id", options.only, &description, text());
        }
        if matches!(options.integrity, Some(Bound::Accepted | Bound::Required)) {
            let required = options.integrity == Some(Bound::Required);
            add(
                "X-Mesh-Timestamp",
                required,
                "Time of the signature, in seconds since the Unix epoch",
                text(),
            );
            let nonce = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{16,64}$"});
            add("X-Mesh-Nonce", required, "A value that the session has not used before", nonce);
        }
        add("X-Request-Id", false, "The request id, which the response repeats", text());
        add("If-None-Match", false, "The `ETag` of a response that the client has", text());
        if options.events {
            add("Last-Event-ID", false, "The id of the last event received", text());
        }
        if options.mutations {
            let shape = json!({
                "name": "X-Mesh-Query", "in": "header", "required": false, "schema": query,
                "description": "The selection of the response, in base64; all fields by default",
            });
            all.insert("Shape".to_owned(), shape);
        }
        if options.uploads.is_some() {
            let statement = json!({
                "name": "X-Mesh-Query", "in": "header", "required": true, "schema": query,
                "description": "In base64: {\"entity\": {\"field\": {\"upload\": true}}, \"contentHash\": \"sha256:…\"}",
            });
            all.insert("Statement".to_owned(), statement);
        }
        all.into()
    }

    /// Returns the headers of a read.
    pub(super) fn read_headers(&self, more: &[&str]) -> Vec<Value> {
        let all: &[&str] = match (self.options.only, self.options.persisted.is_some()) {
            (true, _) => &["X-Mesh-Query-Id"],
            (false, true) => &["X-Mesh-Query", "X-Mesh-Query-Id", "X-Mesh-Format"],
            (false, false) => &["X-Mesh-Query", "X-Mesh-Format"],
        };
        self.with_common(all.iter().chain(more).map(|name| component("parameters", name)))
    }

    /// Returns parameters followed by the headers of every request.
    pub(super) fn with_common(&self, parameters: impl IntoIterator<Item = Value>) -> Vec<Value> {
        let bound: &[&str] = match self.options.integrity {
            Some(Bound::Accepted | Bound::Required) => &["X-Mesh-Timestamp", "X-Mesh-Nonce"],
            Some(Bound::Ignored) | None => &[],
        };
        let headers = bound.iter().chain(&["X-Request-Id"]).map(|name| component("parameters", name));
        parameters.into_iter().chain(headers).collect()
    }
}

/// Returns a path parameter.
pub(super) fn in_path(name: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": schema})
}

pub(super) fn headers() -> Value {
    let header = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    json!({
        "ETag": header("The version of the response, for If-None-Match"),
        "Location": header("The path of the new record"),
        "Retry-After": header("Seconds to wait"),
        "X-Request-Id": header("The id of the request in the log"),
    })
}

pub(super) fn security() -> Value {
    let key = |name: &str, description: &str| json!({"type": "apiKey", "in": "header", "name": name, "description": description});
    json!({
        "token": key("X-Mesh-Token", "The token of the session"),
        "signature": key(
            "X-Mesh-Signature",
            "`sha256=` and the hex HMAC-SHA256 of the signed message, with the signing token as key",
        ),
    })
}
