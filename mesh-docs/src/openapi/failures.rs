//! Error responses. `SPEC §12.1`

use serde_json::{Map, Value, json};

use super::components::ERROR;
use super::{Options, component};

/// Status, name of the response, description, and errors with that status.
const ALL: [(&str, &str, &str, &[&str]); 12] = [
    (
        "400",
        "Invalid",
        "The request, its query or its body is invalid",
        &["TransportError", "ValidationError"],
    ),
    ("401", "Unknown", "There is no valid session or signature", &["IntegrityError"]),
    (
        "403",
        "Forbidden",
        "The signature does not match, or the request is not permitted",
        &["IntegrityError"],
    ),
    ("404", "NotFound", "The path or record does not exist", &["NotFound"]),
    ("409", "Conflict", "A constraint of the database is violated", &["ConflictError"]),
    ("413", "TooLarge", "The body is too large", &["TransportError"]),
    ("415", "WrongType", "The content type is not supported", &["TransportError"]),
    ("416", "NoSuchRange", "The range is outside the file", &["TransportError"]),
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

/// Statuses of all operations.
const ALWAYS: [&str; 4] = ["400", "431", "500", "503"];

/// Adds the error responses of an operation to its successful ones.
pub(super) fn with(options: &Options, mut responses: Value, failures: &[&str]) -> Value {
    let guarded: &[&str] = if options.integrity.is_some() { &["401", "403"] } else { &[] };
    if let Some(responses) = responses.as_object_mut() {
        for (status, name, ..) in &ALL {
            let rated = options.rates && *status == "429";
            if rated || ALWAYS.contains(status) || failures.contains(status) || guarded.contains(status) {
                responses.insert((*status).to_owned(), component("responses", name));
            }
        }
    }
    responses
}

pub(super) fn responses(options: &Options) -> Value {
    let guarded = options.integrity.is_some() || options.persisted.is_some();
    let writes = options.mutations || options.uploads.is_some();
    let is_used = |status: &str| match status {
        "401" => options.integrity.is_some(),
        "429" => options.integrity.is_some() || options.rates,
        "403" => guarded || options.uploads.is_some(),
        "404" => writes || options.events,
        "409" => writes,
        "416" => options.uploads.is_some(),
        _ => true,
    };
    let mut all = Map::new();
    for (status, name, description, errors) in ALL.iter().filter(|(status, ..)| is_used(status)) {
        let kind = json!({"properties": {"error": {"enum": errors}}});
        let schema = json!({"allOf": [component("schemas", ERROR), kind]});
        let mut headers = json!({"X-Request-Id": component("headers", "X-Request-Id")});
        if let (Some(headers), "429" | "503") = (headers.as_object_mut(), *status) {
            headers.insert("Retry-After".to_owned(), component("headers", "Retry-After"));
        }
        let content = json!({"application/json": {"schema": schema}});
        all.insert(
            (*name).to_owned(),
            json!({"description": description, "headers": headers, "content": content}),
        );
    }
    all.into()
}
