//! The access log: one line for each request.

use http::StatusCode;

use super::record::Facts;
use crate::pipeline::context::RequestContext;

/// The target of log lines about requests, so that a log filter can select them.
const ACCESS_LOG: &str = "mesh_server::access";

/// Logs a request without its URL query, headers and body, which may hold secrets or personal data.
pub(crate) fn write(cx: &RequestContext<'_>, facts: &Facts, status: StatusCode, seconds: f64) {
    let user = facts.session.as_ref().map(|session| session.user.as_str());
    macro_rules! line {
        ($level:ident, $message:literal) => {
            tracing::$level!(
                target: ACCESS_LOG, request = %cx.head.request_id, trace = cx.record.trace.map(|trace| trace.trace_id()),
                method = %cx.head.method, path = cx.uri.path(), status = status.as_u16(),
                ms = (seconds * 1e5).round() / 100.0, rows = facts.read.map(|read| read.rows),
                client = cx.address.map(|address| address.to_string()), user, $message
            )
        };
    }
    if status.is_server_error() {
        line!(warn, "request failed");
    } else {
        line!(debug, "request");
    }
}
