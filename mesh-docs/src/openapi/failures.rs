//! Error responses. `SPEC §12.1`

use serde_json::{Map, Value, json};

use super::components::{ERROR, json_response};
use super::{Api, OpenApiOptions, component};
use crate::json::set;

/// Status, name of the response, description, and errors with that status.
const ALL: [(&str, &str, &str, &[&str]); 14] = [
    (
        "400",
        "Invalid",
        "The request, its query or its body is invalid",
        &["TransportError", "ValidationError"],
    ),
    ("401", "Unknown", "There is no valid credential or signature", &["IntegrityError"]),
    (
        "403",
        "Forbidden",
        "The signature does not match, or the request is not permitted",
        &["IntegrityError"],
    ),
    ("404", "NotFound", "The path or record does not exist", &["NotFound"]),
    ("409", "Conflict", "A constraint of the database is violated", &["ConflictError"]),
    (
        "412",
        "Changed",
        "The record is not in the state that `If-Match` requires; read it again",
        &["PreconditionFailed"],
    ),
    ("413", "TooLarge", "The body is too large", &["TransportError"]),
    ("415", "WrongType", "The content type is not supported", &["TransportError"]),
    ("416", "NoSuchRange", "The range is outside the file", &["TransportError"]),
    ("421", "Misdirected", "The server does not answer to this name", &["TransportError"]),
    ("429", "TooMany", "Too many requests", &["RateLimitError"]),
    ("431", "HeadersTooLarge", "The headers are too large; send long queries by POST", &["TransportError"]),
    (
        "500",
        "Failed",
        "An internal error; the log has details under the request id",
        &["ResolverError", "InternalError"],
    ),
    ("503", "Unavailable", "The server is overloaded or shutting down", &["Unavailable"]),
];

impl Api<'_> {
    /// Adds the error responses of an operation to its successful ones.
    pub(super) fn responses(&self, mut responses: Value, failures: &[&str]) -> Value {
        for (status, name, ..) in ALL {
            let is_possible = match status {
                "400" | "421" | "429" | "431" | "500" | "503" => true,
                "401" if self.options.identifies() => true,
                "403" if self.options.integrity.is_some() => true,
                _ => failures.contains(&status),
            };
            if is_possible {
                set(&mut responses, status, component("responses", name));
            }
        }
        responses
    }

    /// Returns a JSON response with status 200, and the error responses of the operation.
    pub(super) fn ok(&self, description: &str, schema: &Value, failures: &[&str]) -> Value {
        self.responses(json!({"200": json_response(description, schema)}), failures)
    }
}

pub(super) fn responses(options: &OpenApiOptions) -> Value {
    let guarded = options.integrity.is_some() || options.persisted.is_some();
    let writes = options.mutations || options.uploads.is_some();
    let is_used = |status: &str| match status {
        "401" => options.identifies(),
        "403" => guarded || options.uploads.is_some(),
        "404" => writes || options.events,
        "409" => writes,
        "416" => options.uploads.is_some(),
        _ => true,
    };
    let mut all = Map::new();
    for (status, name, description, errors) in ALL.iter().filter(|(status, ..)| is_used(status)) {
        let mut kind = json!({"error": {"enum": errors}});
        if *status == "401" {
            set(&mut kind, "code", json!({"enum": codes(options)}));
        }
        let kind = json!({"properties": kind});
        let schema = json!({"allOf": [component("schemas", ERROR), kind]});
        let mut headers = json!({"X-Request-Id": component("headers", "X-Request-Id")});
        if let "429" | "503" = *status {
            set(&mut headers, "Retry-After", component("headers", "Retry-After"));
        }
        if *status == "401" {
            set(&mut headers, "WWW-Authenticate", component("headers", "WWW-Authenticate"));
        }
        let content = json!({"application/json": {"schema": schema}});
        all.insert(
            (*name).to_owned(),
            json!({"description": description, "headers": headers, "content": content}),
        );
    }
    all.into()
}

/// Returns the codes of refused credentials.
fn codes(options: &OpenApiOptions) -> Vec<&'static str> {
    let mut all = vec!["TOKEN_MISSING", "TOKEN_INVALID", "TOKEN_EXPIRED"];
    if options.integrity.is_some() {
        all.extend(["TOKEN_REVOKED", "SIGNATURE_MISSING", "REPLAYED", "BAD_CREDENTIALS"]);
    }
    all
}
