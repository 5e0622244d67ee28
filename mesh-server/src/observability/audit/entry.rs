//! Which requests are logged, and the JSON of their entries.

use std::fmt::{self, Write as _};
use std::time::{Duration, SystemTime};

use http::{Method, StatusCode};
use jiff::Timestamp;
use mesh_integrity::unix_millis;
use mesh_plan::{Fields, WriteTarget};
use serde_json::Value;

use super::AuditEntry;
use crate::observability::record::{CallerKind, RouteKind};
use crate::pipeline::context::RequestContext;

/// Bytes of a text of a client in an entry, such as a path. The rest is cut off.
const MAX_TEXT: usize = 512;
/// Names of fields in an entry.
const MAX_FIELDS: usize = 64;
/// Bytes of the values of fields in an entry. Larger ones are left out.
const MAX_VALUES: usize = 16 << 10;

/// What a null character becomes.
const REPLACEMENT: &str = "\u{fffd}";

/// What handlers add to the entry of their request.
#[derive(Debug, Default)]
pub(crate) struct AuditDetails {
    /// The event, if the route does not decide it.
    pub(crate) event: Option<&'static str>,
    /// The entity that is written.
    pub(crate) entity: Option<String>,
    /// The id of the record.
    pub(crate) id: Option<String>,
    /// The names of the written fields, and their values if those are logged.
    pub(crate) fields: Vec<String>,
    pub(crate) values: Option<String>,
    /// The account of a login attempt.
    pub(crate) account: Option<String>,
    /// The id of a registered query.
    pub(crate) query: Option<String>,
}

impl AuditDetails {
    /// Sets the entity and the record of a write.
    pub(crate) fn set_target(&mut self, target: &WriteTarget<'_>) {
        let (entity, id) = match target {
            WriteTarget::Create { entity } => (entity, None),
            WriteTarget::Update { entity, id }
            | WriteTarget::Delete { entity, id }
            | WriteTarget::Attach { entity, id, .. }
            | WriteTarget::Connect { entity, id, .. }
            | WriteTarget::Disconnect { entity, id, .. }
            | WriteTarget::Remove { entity, id, .. } => (entity, Some(id)),
        };
        self.entity = Some((*entity).to_owned());
        self.id = id.map(|id| id.to_text(1).into_owned());
    }

    /// Sets the fields of a write.
    pub(crate) fn set_fields(&mut self, fields: &Fields, with_values: bool) {
        self.fields = fields.iter().take(MAX_FIELDS).map(|(name, _)| clipped(name).to_owned()).collect();
        if with_values {
            let bytes: usize = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
            let member = |(name, value): (&str, &str)| format!("{}:{}", Json(name), value_of(value));
            self.values = (bytes <= MAX_VALUES)
                .then(|| format!("{{{}}}", fields.iter().map(member).collect::<Vec<_>>().join(",")));
        }
    }
}

/// Returns a value in a form that databases accept as JSON, on one line; what is none of theirs becomes a string.
fn value_of(json: &str) -> Value {
    let mut value = serde_json::from_str(json).unwrap_or_else(|_| Value::from(json));
    remove_null_characters(&mut value);
    value
}

/// Replaces the characters that texts of PostgreSQL cannot contain.
fn remove_null_characters(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => *text = text.replace('\0', REPLACEMENT),
        Value::Array(values) => values.iter_mut().for_each(remove_null_characters),
        Value::Object(members) => {
            let cleaned = std::mem::take(members).into_iter().map(|(name, mut value)| {
                remove_null_characters(&mut value);
                (name.replace('\0', REPLACEMENT), value)
            });
            *members = cleaned.collect();
        }
        _ => {}
    }
}

/// Whether a status is that of a request which the caller may not send, or not so often.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS)
}

/// Returns the event of a request that is logged: writes, uploads, logins, logouts and registrations, and all other requests
/// that were refused.
pub(super) fn event(cx: &RequestContext<'_>, status: StatusCode) -> Option<&'static str> {
    use RouteKind::{
        Attach, Connect, Create, Custom, Delete, Disconnect, Login, Logout, Register, Remove, Update,
    };
    let event = match cx.record.route() {
        Create | Update | Delete | Attach | Connect | Disconnect | Remove => Some("write"),
        Login => Some("login"),
        Logout => Some("logout"),
        Register => Some("register"),
        Custom if !matches!(*cx.head.method, Method::GET | Method::HEAD) => Some("request"),
        _ => None,
    };
    let event =
        cx.record.with_audit_details(|details| details.event).or(event).filter(|event| *event != READ);
    event.or_else(|| is_refusal(status).then_some("request"))
}

/// The event of a request to a write route that is a read.
pub(crate) const READ: &str = "read";

/// Returns the entry of a request.
pub(super) fn of_request(
    cx: &RequestContext<'_>,
    event: &'static str,
    status: StatusCode,
    duration: Duration,
) -> AuditEntry {
    let record = cx.record;
    let outcome = match status {
        status if is_refusal(status) => "refused",
        status if status.is_client_error() || status.is_server_error() => "failed",
        _ => "ok",
    };
    let mut entry = Object::begin(event);
    entry.text("outcome", outcome);
    entry.raw("status", status.as_u16());
    if let Some((kind, code)) = record.error() {
        entry.text("error", kind);
        entry.optional("code", code);
    }
    entry.text("method", cx.head.method.as_str());
    entry.text("path", cx.uri.path());
    record.with_audit_details(|details| {
        entry.optional("entity", details.entity.as_deref());
        entry.optional("id", details.id.as_deref());
        if !details.fields.is_empty() {
            let names: Vec<String> = details.fields.iter().map(|name| Json(name).to_string()).collect();
            entry.raw("fields", format_args!("[{}]", names.join(",")));
        }
        if let Some(values) = &details.values {
            entry.raw("values", values);
        }
        entry.optional("account", details.account.as_deref());
        entry.optional("query", details.query.as_deref());
    });
    entry.optional("caller", record.caller_kind().map(CallerKind::name));
    if let Some(session) = record.session() {
        entry.text("user", &session.user);
        entry.optional("role", session.role.as_deref());
        entry.optional("tenant", session.tenant.as_deref());
        entry.raw("session", format_args!("\"{}\"", session.session));
    }
    if let Some(address) = cx.address {
        entry.raw("client", format_args!("\"{address}\""));
    }
    entry.text("requestId", cx.request_id());
    if let Some(trace) = record.trace {
        entry.raw("traceId", format_args!("\"{}\"", trace.trace_id()));
    }
    entry.raw("ms", (duration.as_secs_f64() * 1e5).round() / 100.0);
    entry.end()
}

/// Returns an entry that says how many others are missing.
pub(super) fn of_count(event: &'static str, count: u64) -> AuditEntry {
    let mut entry = Object::begin(event);
    entry.raw("count", count);
    entry.end()
}

/// A JSON object that is being written.
struct Object(AuditEntry);

impl Object {
    fn begin(event: &'static str) -> Self {
        let millis = i64::try_from(unix_millis(SystemTime::now())).unwrap_or(i64::MAX);
        let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = format!("{time:.3}");
        let json = format!(r#"{{"time":"{time}","event":"{event}""#);
        Self(AuditEntry { time, event, json })
    }

    /// Adds a member whose value is JSON already.
    fn raw(&mut self, name: &str, value: impl fmt::Display) {
        // Writing to a string does not fail.
        let _ = write!(self.0.json, ",\"{name}\":{value}");
    }

    fn text(&mut self, name: &str, text: &str) {
        self.raw(name, Json(clipped(text)));
    }

    fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    fn end(mut self) -> AuditEntry {
        self.0.json.push('}');
        self.0
    }
}

/// Formats a text as a JSON string.
struct Json<'t>(&'t str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Value::from(self.0.replace('\0', REPLACEMENT)).to_string())
    }
}

/// Returns the beginning of a text, up to the bound on texts of clients.
fn clipped(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_logged_by_name_and_on_demand_by_value() {
        let fields = Fields::parse(
            br#"{"title": "a\nb", "tags": [1,
            2]}"#,
        );
        let fields = fields.unwrap();
        let mut details = AuditDetails::default();
        details.set_fields(&fields, false);
        assert_eq!(
            (details.fields.as_slice(), details.values.as_deref()),
            (&["title", "tags"].map(str::to_owned)[..], None)
        );
        details.set_fields(&fields, true);
        assert_eq!(details.values.as_deref(), Some(r#"{"title":"a\nb","tags":[1,2]}"#));
        let odd = br#"{"a": "\u0000", "b": {"\u0000": ["\u0000"]}, "c": "\ud800", "d": 1e999}"#;
        details.set_fields(&Fields::parse(odd).unwrap(), true);
        let values: Value = serde_json::from_str(details.values.as_deref().unwrap()).unwrap();
        let expected = serde_json::json!({
            "a": REPLACEMENT, "b": {REPLACEMENT: [REPLACEMENT]}, "c": "\"\\ud800\"", "d": "1e999"
        });
        assert_eq!(values, expected, "databases accept what clients send");
    }

    #[test]
    fn what_clients_send_is_bounded() {
        let body = serde_json::json!({"title": "x".repeat(MAX_VALUES), "y".repeat(2_000): 1}).to_string();
        let mut details = AuditDetails::default();
        details.set_fields(&Fields::parse(body.as_bytes()).unwrap(), true);
        assert_eq!(details.values, None);
        assert!(details.fields.iter().all(|name| name.len() <= MAX_TEXT));
        assert_eq!(clipped(&"é".repeat(300)).len(), MAX_TEXT);
    }

    #[test]
    fn texts_of_clients_cannot_add_members() {
        let mut entry = Object::begin("write");
        entry.text("path", "/a\",\"user\":\"admin\"\n{");
        let entry: Value = serde_json::from_str(&entry.end().json).unwrap();
        assert_eq!(entry["path"], "/a\",\"user\":\"admin\"\n{");
        assert_eq!((entry["event"].as_str(), entry.get("user")), (Some("write"), None));
    }
}
