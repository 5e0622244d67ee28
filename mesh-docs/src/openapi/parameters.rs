//! Headers of requests and responses. `SPEC §2`, `SPEC §7`, `SPEC §12.3`

use serde_json::{Map, Value, json};

use super::{Api, Bound, component};

/// The suffix of the names of parameters that only writes have.
const WRITE_SUFFIX: &str = ".write";

impl Api<'_> {
    /// Returns the parameters that operations refer to.
    pub(super) fn parameters(&self) -> Value {
        let options = self.options;
        let mut all = Map::new();
        let mut add = |name: &str, required: bool, description: &str, schema: Value| {
            // The suffix distinguishes a parameter of writes from the same parameter of other requests.
            let header = name.strip_suffix(WRITE_SUFFIX).unwrap_or(name);
            let parameter = json!({"name": header, "in": "header", "required": required, "description": description, "schema": schema});
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
        let values = "The values of the query's parameters: a JSON object in base64";
        add("X-Mesh-Params", false, values, query.clone());
        if matches!(options.integrity, Some(Bound::Accepted | Bound::Required)) {
            let required = options.integrity == Some(Bound::Required);
            let time = "Time of the signature, in seconds since the Unix epoch";
            let once = "A value that the session has not used before";
            let nonce = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{16,64}$"});
            add("X-Mesh-Timestamp", required, time, text());
            add("X-Mesh-Nonce", required, once, nonce.clone());
            if options.mutations {
                add("X-Mesh-Timestamp.write", true, time, text());
                add("X-Mesh-Nonce.write", true, once, nonce);
            }
        }
        add("X-Request-Id", false, "The request id, which the response repeats", text());
        add("If-None-Match", false, "The `ETag` of a response that the client has", text());
        if options.events {
            add("Last-Event-ID", false, "The id of the last event received", text());
        }
        if options.mutations {
            let tags =
                "The `ETag` of a point read with the same query, which the write requires; `*` for any";
            add("If-Match", false, tags, text());
            let shape = if options.only {
                json!({
                    "name": "X-Mesh-Query-Id", "in": "header", "required": true, "schema": text(),
                    "description": "The id of the registered query that selects the response",
                })
            } else {
                json!({
                    "name": "X-Mesh-Query", "in": "header", "required": false, "schema": query,
                    "description": "The selection of the response, in base64; all fields by default",
                })
            };
            all.insert("Shape".to_owned(), shape);
        }
        if options.uploads.is_some() {
            let statement = json!({
                "name": "X-Mesh-Query", "in": "header", "required": true, "schema": query,
                "description": "In base64: {\"entity\": {\"field\": {\"upload\": true}}, \"contentHash\": \"sha256:…\", \"contentType\": \"…\", \"metaHash\": \"sha256:…\"}",
            });
            all.insert("Statement".to_owned(), statement);
        }
        all.into()
    }

    /// Returns the headers of a read.
    pub(super) fn read_headers(&self, more: &[&str]) -> Vec<Value> {
        let all: &[&str] = match (self.options.only, self.options.persisted.is_some()) {
            (true, _) => &["X-Mesh-Query-Id", "X-Mesh-Params"],
            (false, true) => &["X-Mesh-Query", "X-Mesh-Query-Id", "X-Mesh-Format", "X-Mesh-Params"],
            (false, false) => &["X-Mesh-Query", "X-Mesh-Format", "X-Mesh-Params"],
        };
        self.with_common(all.iter().chain(more).map(|name| component("parameters", name)))
    }

    /// Returns parameters followed by the headers of every request.
    pub(super) fn with_common(&self, parameters: impl IntoIterator<Item = Value>) -> Vec<Value> {
        self.with_headers(parameters, &["X-Mesh-Timestamp", "X-Mesh-Nonce"])
    }

    /// Returns parameters followed by the headers of every write, whose signature is bound.
    pub(super) fn with_write_headers(&self, parameters: impl IntoIterator<Item = Value>) -> Vec<Value> {
        self.with_headers(parameters, &["X-Mesh-Timestamp.write", "X-Mesh-Nonce.write"])
    }

    fn with_headers(&self, parameters: impl IntoIterator<Item = Value>, bound: &[&str]) -> Vec<Value> {
        let bound = match self.options.integrity {
            Some(Bound::Accepted | Bound::Required) => bound,
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
        "ETag": header("The version of the response, for If-None-Match and If-Match"),
        "Location": header("The path of the new record"),
        "Retry-After": header("Seconds to wait"),
        "WWW-Authenticate": header("How callers identify themselves: `Mesh`, `Bearer`, or both"),
        "X-Request-Id": header("The id of the request in the log"),
    })
}
