//! Encoding of spans as OTLP in JSON.

use serde_json::{Value, json};

use super::Span;

/// The kind of a server's span.
const SERVER: u8 = 2;
/// The status code of a failed span.
const FAILED: u8 = 2;

/// Returns the body of a request to the collector.
pub(super) fn batch(service: &str, spans: &[Span]) -> String {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", service), text("service.version", env!("CARGO_PKG_VERSION"))]},
        "scopeSpans": [{"scope": {"name": "mesh-server"}, "spans": spans}],
    }]})
    .to_string()
}

/// Encodes a span: ids as hex digits, 64-bit integers as text.
fn span(span: &Span) -> Value {
    let (method, route) = span.route.labels();
    let mut attributes = vec![
        text("http.route", route),
        text("mesh.request_id", &span.request_id),
        number("http.response.status_code", u64::from(span.status)),
    ];
    if !method.is_empty() {
        attributes.push(text("http.request.method", method));
    }
    if let Some(rows) = span.rows {
        attributes.push(number("mesh.rows", rows));
    }
    let mut value = json!({
        "traceId": span.trace.trace_id(),
        "spanId": format!("{:016x}", span.trace.span),
        "name": format!("{method} {route}").trim_start(),
        "kind": SERVER,
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes,
        "status": if span.status >= 500 { json!({"code": FAILED}) } else { json!({}) },
    });
    if let (Some(fields), true) = (value.as_object_mut(), span.trace.parent != 0) {
        fields.insert("parentSpanId".to_owned(), format!("{:016x}", span.trace.parent).into());
    }
    value
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}
