//! The report of a request: `Server-Timing` and `traceparent` in its reply, metrics, a trace span and a log line.

use http::Response;

use super::access_log;
use super::audit::entry::Answered;
use super::server_timing::{self, SERVER_TIMING};
use super::trace_context::TRACEPARENT;
use crate::pipeline::body::Body;
use crate::pipeline::context::RequestContext;

/// Reports a request that was answered.
pub(crate) fn record(cx: &RequestContext<'_>, reply: &mut Response<Body>) {
    let (shared, record) = (cx.shared, cx.record);
    let duration = record.start.elapsed();
    let status = reply.status();
    let facts = record.facts();
    if shared.options.server_timing
        && let Some(read) = facts.read
        && !status.is_client_error()
        && !status.is_server_error()
        && let Some(value) = server_timing::header(read, duration)
    {
        reply.headers_mut().insert(SERVER_TIMING, value);
    }
    if let Some(value) = record.trace.and_then(|trace| trace.header_value()) {
        reply.headers_mut().insert(TRACEPARENT, value);
    }
    if let Some(metrics) = &shared.metrics {
        metrics.answered(&facts, status.as_u16(), duration);
    }
    if let Some(audit) = &shared.options.audit {
        audit.record(&Answered {
            facts: &facts,
            trace: record.trace,
            method: cx.head.method,
            path: cx.uri.path(),
            address: cx.address,
            request_id: cx.request_id(),
            status,
            duration,
        });
    }
    #[cfg(feature = "otlp")]
    if let (Some(spans), Some(trace)) = (&shared.options.spans, record.trace) {
        spans.record(trace, &facts, cx.head.request_id, status.as_u16(), duration);
    }
    access_log::write(cx, &facts, status, duration.as_secs_f64());
}
