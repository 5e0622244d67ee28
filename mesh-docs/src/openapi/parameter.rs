//! Which headers do requests and answers have? `SPEC §2`, `SPEC §7`, `SPEC §12.3`

use serde_json::{Map, Value, json};

use super::{Api, Bound, component};

impl Api<'_> {
    /// The parameters that operations refer to.
    pub(super) fn parameters(&self) -> Value {
        let options = self.options;
        let mut all = Map::new();
        let mut add = |name: &str, required: bool, said: &str, schema: Value| {
            let parameter = json!({"name": name, "in": "header", "required": required, "description": said, "schema": schema});
            all.insert(name.to_owned(), parameter);
        };
        let text = || json!({"type": "string"});
        let query =
            json!({"type": "string", "contentEncoding": "base64", "contentMediaType": "application/json"});
        if !options.only {
            let or = if options.persisted.is_some() { ", unless its id is sent" } else { "" };
            let said = format!("The query in base64{or}");
            add("X-Mesh-Query", options.persisted.is_none(), &said, query.clone());
            add(
                "X-Mesh-Format",
                false,
                "How the query is written",
                json!({"enum": ["json", "ql"], "default": "json"}),
            );
        }
        if options.persisted.is_some() {
            let or = if options.only { "" } else { ", in place of the query" };
            let said = format!("The id of a registered query{or}");
            add("X-Mesh-Query-Id", options.only, &said, text());
        }
        if matches!(options.integrity, Some(Bound::Accepted | Bound::Required)) {
            let required = options.integrity == Some(Bound::Required);
            add("X-Mesh-Timestamp", required, "When it was signed, in seconds since 1970", text());
            let nonce = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{16,64}$"});
            add("X-Mesh-Nonce", required, "What the session has not used before", nonce);
        }
        add("X-Request-Id", false, "A name for the request, which the answer repeats", text());
        add("If-None-Match", false, "The tag of an answer that is there already", text());
        if options.events {
            add("Last-Event-ID", false, "The id of the last event that was seen", text());
        }
        if options.mutations {
            let shape = json!({
                "name": "X-Mesh-Query", "in": "header", "required": false, "schema": query,
                "description": "What the answer is to have, in base64; all fields where it is left out",
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

    /// The headers of a read.
    pub(super) fn asked(&self, more: &[&str]) -> Vec<Value> {
        let all: &[&str] = match (self.options.only, self.options.persisted.is_some()) {
            (true, _) => &["X-Mesh-Query-Id"],
            (false, true) => &["X-Mesh-Query", "X-Mesh-Query-Id", "X-Mesh-Format"],
            (false, false) => &["X-Mesh-Query", "X-Mesh-Format"],
        };
        let own = all.iter().chain(more).map(|name| component("parameters", name));
        own.chain(self.signed()).collect()
    }

    /// The headers of every request.
    pub(super) fn signed(&self) -> impl Iterator<Item = Value> + use<> {
        let bound: &[&str] = match self.options.integrity {
            Some(Bound::Accepted | Bound::Required) => &["X-Mesh-Timestamp", "X-Mesh-Nonce"],
            Some(Bound::Ignored) | None => &[],
        };
        bound.iter().chain(&["X-Request-Id"]).map(|name| component("parameters", name))
    }
}

/// A parameter of the path.
pub(super) fn in_path(name: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": schema})
}

pub(super) fn headers() -> Value {
    let header = |said: &str| json!({"description": said, "schema": {"type": "string"}});
    json!({
        "ETag": header("What the answer is known by, for If-None-Match"),
        "Location": header("Where the new record is"),
        "Retry-After": header("Seconds to wait"),
        "X-Request-Id": header("What the log calls the request"),
    })
}

pub(super) fn security() -> Value {
    let key =
        |name: &str, said: &str| json!({"type": "apiKey", "in": "header", "name": name, "description": said});
    json!({
        "token": key("X-Mesh-Token", "The token of the session"),
        "signature": key(
            "X-Mesh-Signature",
            "`sha256=` and the hex form of HMAC-SHA256 of what the request asks, under the session's signing token",
        ),
    })
}
