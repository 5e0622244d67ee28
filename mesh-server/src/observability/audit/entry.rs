//! The entries of the log, and the requests that have one.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use http::{Method, StatusCode};
use jiff::Timestamp;
use mesh_integrity::unix_millis;
use mesh_wire::Effect;

use super::details::READ;
use super::json::Members;
use crate::identity::caller::CallerKind;
use crate::observability::record::{RequestRecord, RouteKind};

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The time in RFC 3339, in UTC.
    pub time: String,
    /// The kind of event.
    pub event: &'static str,
    /// The whole entry as a JSON object, without line breaks.
    pub json: String,
}

/// A request that was answered.
pub(crate) struct Answered<'r> {
    pub(crate) record: &'r RequestRecord,
    pub(crate) method: &'r Method,
    pub(crate) path: &'r str,
    /// The client's address.
    pub(crate) address: Option<IpAddr>,
    pub(crate) request_id: &'r str,
    pub(crate) status: StatusCode,
    pub(crate) duration: Duration,
}

/// Returns whether a status means that the caller may not send the request, or not this often.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS)
}

/// Returns the event of a request if it is logged. Writes, uploads, logins, logouts, registrations, and all other
/// requests that were refused are logged.
pub(super) fn event(request: &Answered<'_>, status: StatusCode) -> Option<&'static str> {
    use RouteKind::{Custom, Login, Logout, Register};
    let event = match request.record.route() {
        route if route.is_write() => Some("write"),
        Login => Some("login"),
        Logout => Some("logout"),
        Register => Some("register"),
        Custom if !matches!(*request.method, Method::GET | Method::HEAD) => Some("request"),
        _ => None,
    };
    let event =
        request.record.with_audit_details(|details| details.event).or(event).filter(|event| *event != READ);
    event.or_else(|| is_refusal(status).then_some("request"))
}

/// Returns the entry of a request.
pub(super) fn request_entry(request: &Answered<'_>, event: &'static str, status: StatusCode) -> AuditEntry {
    let record = request.record;
    // What is stored decides, not whether the reply was successful.
    let outcome = match record.error().and_then(|error| error.effect) {
        Some(Effect::Applied) => "ok",
        Some(Effect::Unknown) => "unknown",
        _ if is_refusal(status) => "refused",
        _ if status.is_client_error() || status.is_server_error() => "failed",
        _ => "ok",
    };
    let mut entry = Object::begin(event);
    entry.members.text("outcome", outcome);
    entry.members.raw("status", status.as_u16());
    if let Some(error) = record.error() {
        entry.members.text("error", error.kind);
        entry.members.optional("code", error.code);
    }
    entry.members.text("method", request.method.as_str());
    entry.members.text("path", request.path);
    record.with_audit_details(|details| details.write(&mut entry.members));
    entry.members.optional("caller", record.caller_kind().map(CallerKind::name));
    if let Some(session) = record.session() {
        entry.members.text("user", &session.user);
        entry.members.optional("role", session.role.as_deref());
        entry.members.optional("tenant", session.tenant.as_deref());
        entry.members.raw("session", format_args!("\"{}\"", session.session));
    } else if let Some(principal) = record.local() {
        entry.members.text("user", &principal.user);
        entry.members.optional("role", principal.role.as_deref());
        entry.members.optional("tenant", principal.tenant.as_deref());
    }
    if let Some(address) = request.address {
        entry.members.raw("client", format_args!("\"{address}\""));
    }
    entry.members.text("requestId", request.request_id);
    if let Some(trace) = record.trace {
        entry.members.raw("traceId", format_args!("\"{}\"", trace.trace_id()));
    }
    entry.members.raw("ms", (request.duration.as_secs_f64() * 1e5).round() / 100.0);
    entry.end()
}

/// Returns an entry with the number of missing entries.
pub(super) fn count_entry(event: &'static str, count: u64) -> AuditEntry {
    let mut entry = Object::begin(event);
    entry.members.raw("count", count);
    entry.end()
}

/// An entry that is being written.
struct Object {
    time: String,
    event: &'static str,
    members: Members,
}

impl Object {
    fn begin(event: &'static str) -> Self {
        let millis = i64::try_from(unix_millis(SystemTime::now())).unwrap_or(i64::MAX);
        let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = format!("{time:.3}");
        let mut members = Members::default();
        members.text("time", &time);
        members.text("event", event);
        Self { time, event, members }
    }

    fn end(self) -> AuditEntry {
        let Self { time, event, members } = self;
        AuditEntry { time, event, json: members.into_object() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn texts_of_clients_cannot_add_members() {
        let mut entry = Object::begin("write");
        entry.members.text("path", "/a\",\"user\":\"admin\"\n{");
        let entry: Value = serde_json::from_str(&entry.end().json).unwrap();
        assert_eq!(entry["path"], "/a\",\"user\":\"admin\"\n{");
        assert_eq!((entry["event"].as_str(), entry.get("user")), (Some("write"), None));
    }
}
