//! The form of refusals; all faults of a table are reported together.

use mesh_tests::Response;
use serde_json::Value;

/// Returns what is wrong with the body and the headers of an error (SPEC §12.1).
pub(crate) fn shape_faults(response: &Response) -> Vec<String> {
    let mut faults = Vec::new();
    if response.header("content-type") != Some("application/json; charset=utf-8") {
        faults.push(format!("content type {:?}", response.header("content-type")));
    }
    if response.header("cache-control") != Some("no-store") {
        faults.push(format!("Cache-Control {:?} on an error", response.header("cache-control")));
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(&response.body) else {
        faults.push("the body is no JSON object".to_owned());
        return faults;
    };
    for key in ["error", "message", "requestId"] {
        if body.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
            faults.push(format!("no text in {key}"));
        }
    }
    let known = ["error", "message", "requestId", "code", "path", "line", "column", "fields", "effect"];
    if let Some(key) = body.keys().find(|key| !known.contains(&key.as_str())) {
        faults.push(format!("unknown key {key}"));
    }
    if let Some(fields) = body.get("fields") {
        let is_text = |field: &Value, key: &str| field[key].as_str().is_some_and(|text| !text.is_empty());
        let is_fault = |field: &Value| field["path"].is_string() && is_text(field, "message");
        if !fields.as_array().is_some_and(|fields| !fields.is_empty() && fields.iter().all(is_fault)) {
            faults.push(format!("fields {fields}"));
        }
    }
    if body.get("requestId").and_then(Value::as_str) != response.header("x-request-id") {
        faults.push(format!("X-Request-Id {:?} is another than requestId", response.header("x-request-id")));
    }
    faults
}

/// Fails if there are faults.
pub(crate) fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n- {}", faults.len(), faults.join("\n- "));
}
