//! What does a server answer that cannot do what it is asked to? `SPEC §12.1`

use serde_json::{Map, Value, json};

use super::answer::ERROR;
use super::{Options, component};

/// Each status with the name of its response, what it says, and the errors that have it.
const ALL: [(&str, &str, &str, &[&str]); 12] = [
    ("400", "Invalid", "The request, its query or its body is wrong", &["TransportError", "ValidationError"]),
    ("401", "Unknown", "There is no session, or it has ended, or nothing proves it", &["IntegrityError"]),
    ("403", "Forbidden", "The signature is of something else, or it is not permitted", &["IntegrityError"]),
    ("404", "NotFound", "There is no such path or record", &["NotFound"]),
    ("409", "Conflict", "A constraint forbids it", &["ConflictError"]),
    ("413", "TooLarge", "The body is too large", &["TransportError"]),
    ("415", "WrongType", "The body is of another type", &["TransportError"]),
    ("416", "NoSuchRange", "The file does not have these bytes", &["TransportError"]),
    ("429", "TooMany", "Too many requests", &["RateLimitError"]),
    ("431", "HeadersTooLarge", "The headers are too large; a long query can be posted", &["TransportError"]),
    (
        "500",
        "Failed",
        "The server failed; its log says why, under the request's id",
        &["ResolverError", "InternalError"],
    ),
    ("503", "Unavailable", "The server has too much to do, or is stopping", &["Unavailable"]),
];

/// Statuses that any request may be answered with.
const ALWAYS: [&str; 4] = ["400", "431", "500", "503"];

/// The responses of an operation: those of success, and failures, these beside those of every request.
pub(super) fn with(options: &Options, mut good: Value, failures: &[&str]) -> Value {
    let guarded: &[&str] = if options.integrity.is_some() { &["401", "403"] } else { &[] };
    if let Some(good) = good.as_object_mut() {
        for (status, name, ..) in &ALL {
            let rated = options.rates && *status == "429";
            if rated || ALWAYS.contains(status) || failures.contains(status) || guarded.contains(status) {
                good.insert((*status).to_owned(), component("responses", name));
            }
        }
    }
    good
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
    for (status, name, said, errors) in ALL.iter().filter(|(status, ..)| is_used(status)) {
        let kind = json!({"properties": {"error": {"enum": errors}}});
        let schema = json!({"allOf": [component("schemas", ERROR), kind]});
        let mut headers = json!({"X-Request-Id": component("headers", "X-Request-Id")});
        if let (Some(headers), "429" | "503") = (headers.as_object_mut(), *status) {
            headers.insert("Retry-After".to_owned(), component("headers", "Retry-After"));
        }
        let content = json!({"application/json": {"schema": schema}});
        all.insert((*name).to_owned(), json!({"description": said, "headers": headers, "content": content}));
    }
    all.into()
}

/// The body of every failure.
pub(super) fn body() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {"type": "string"},
            "message": {"type": "string"},
            "requestId": {"type": "string"},
            "code": {"type": "string", "description": "which of several causes it was", "examples": ["CURSOR_MISMATCH", "TOKEN_EXPIRED"]},
            "path": {"type": "string", "description": "where in the query", "examples": ["post.comments.author"]},
            "line": {"type": "integer", "minimum": 1},
            "column": {"type": "integer", "minimum": 1},
        },
        "required": ["error", "message", "requestId"],
    })
}
