//! The entries of the log, and the requests that have one.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use http::{Method, StatusCode};
use jiff::Timestamp;
use mesh_integrity::unix_millis;
use mesh_wire::{Code, Effect};
use serde_json::{Number, Value};

use super::details::READ;
use super::json::{Members, text};
use crate::observability::record::{Facts, RouteKind};
use crate::observability::trace_context::TraceContext;

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
    pub(crate) facts: &'r Facts,
    pub(crate) trace: Option<TraceContext>,
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
    let event = match request.facts.route {
        route if route.is_write() => Some("write"),
        Login => Some("login"),
        Logout => Some("logout"),
        Register => Some("register"),
        Custom if !matches!(*request.method, Method::GET | Method::HEAD) => Some("request"),
        _ => None,
    };
    let detail = request.facts.audit.as_ref().and_then(|details| details.event);
    let event = detail.or(event).filter(|event| *event != READ);
    event.or_else(|| is_refusal(status).then_some("request"))
}

/// Returns the entry of a request.
pub(super) fn request_entry(request: &Answered<'_>, event: &'static str, status: StatusCode) -> AuditEntry {
    let facts = request.facts;
    let error = facts.error.as_deref();
    // What is stored decides, not whether the reply was successful.
    let outcome = match error.and_then(|error| error.effect) {
        Some(Effect::Applied) => "ok",
        Some(Effect::Unknown) => "unknown",
        _ if is_refusal(status) => "refused",
        _ if status.is_client_error() || status.is_server_error() => "failed",
        _ => "ok",
    };
    let mut members = Members::default();
    members.add("outcome", outcome);
    members.add("status", status.as_u16());
    members.add("error", error.map(|error| error.kind.as_str()));
    members.add("code", error.and_then(|error| error.code).map(Code::as_str));
    members.add("method", text(request.method.as_str()));
    members.add("path", text(request.path));
    members.0.extend(facts.audit.iter().flat_map(|details| details.members()));
    members.add("caller", facts.caller);
    if let Some(session) = &facts.session {
        members.add("user", text(&session.user));
        members.add("role", session.role.as_deref().map(text));
        members.add("tenant", session.tenant.as_deref().map(text));
        members.add("session", session.session.to_string());
    } else if let Some(principal) = &facts.local {
        members.add("user", text(&principal.user));
        members.add("role", principal.role.as_deref().map(text));
        members.add("tenant", principal.tenant.as_deref().map(text));
    }
    members.add("client", request.address.map(|address| address.to_string()));
    members.add("requestId", text(request.request_id));
    members.add("traceId", request.trace.map(|trace| trace.trace_id()));
    let ms = (request.duration.as_secs_f64() * 1e5).round() / 100.0;
    // By way of a text, a whole number has no decimals.
    members.add("ms", ms.to_string().parse::<Number>().ok());
    entry(event, members)
}

/// Returns an entry with the number of missing entries.
pub(super) fn count_entry(event: &'static str, count: u64) -> AuditEntry {
    let mut members = Members::default();
    members.add("count", count);
    entry(event, members)
}

/// Returns an entry with these members after its time and its event.
fn entry(event: &'static str, members: Members) -> AuditEntry {
    let millis = i64::try_from(unix_millis(SystemTime::now())).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    let time = format!("{time:.3}");
    let mut all = Members::default();
    all.add("time", time.as_str());
    all.add("event", event);
    all.0.extend(members.0);
    AuditEntry { time, event, json: Value::from(all.0).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_clients_cannot_add_members() {
        let mut members = Members::default();
        members.add("path", text("/a\",\"user\":\"admin\"\n{"));
        let entry: Value = serde_json::from_str(&entry("write", members).json).unwrap();
        assert_eq!(entry["path"], "/a\",\"user\":\"admin\"\n{");
        assert_eq!((entry["event"].as_str(), entry.get("user")), (Some("write"), None));
    }
}
