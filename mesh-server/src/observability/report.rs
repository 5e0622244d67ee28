//! What is told of a request once it is answered? Its client learns what it took, the numbers count it, the log has
//! a line of it, and where there is a collector of traces that gets a span.

use std::time::Duration;

use http::request::Parts;
use http::{Method, Response, StatusCode};
use mesh_wire::RequestId;

use crate::app::Shared;
use crate::body::Body;
use crate::observability::record::RequestRecord;
use crate::observability::server_timing;
use crate::observability::trace_context::TRACEPARENT;
use crate::rates::client_address::ClientAddress;

/// The lines of requests have a target of their own, so that a filter can choose them.
const ACCESS: &str = "mesh_server::access";

/// A request that was answered.
pub(crate) struct Answered<'r> {
    pub(crate) head: &'r Parts,
    pub(crate) request_id: &'r RequestId,
    pub(crate) peer: Option<ClientAddress>,
    pub(crate) seen: &'r RequestRecord,
}

impl Answered<'_> {
    /// Tells all who want to know.
    pub(crate) fn tell(&self, shared: &Shared, reply: &mut Response<Body>) {
        let took = self.seen.start.elapsed();
        let status = reply.status();
        if shared.timing
            && let Some(read) = self.seen.read()
            && !status.is_client_error()
            && !status.is_server_error()
            && let Some(value) =
                server_timing::header(read, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
        {
            reply.headers_mut().insert(server_timing::SERVER_TIMING, value);
        }
        if let Some(value) = self.seen.place.and_then(|place| place.header()) {
            reply.headers_mut().insert(TRACEPARENT, value);
        }
        if let Some(metrics) = &shared.metrics {
            metrics.answered(self.seen, status.as_u16(), took);
        }
        #[cfg(feature = "otlp")]
        if let (Some(spans), Some(place)) = (&shared.spans, self.seen.place) {
            spans.record(place, self.seen, self.request_id, status.as_u16(), took);
        }
        self.log(status, took);
    }

    /// A line without the URL's query, headers and bodies: what is secret or personal stands there.
    fn log(&self, status: StatusCode, took: Duration) {
        if status.is_server_error() {
            self.line(status, took, |line| {
                tracing::warn!(
                    target: ACCESS, request = %line.request, trace = line.trace, method = %line.method,
                    path = line.path, status = line.status, ms = line.ms, rows = line.rows, client = line.client,
                    user = line.user, "request failed"
                );
            });
        } else if tracing::enabled!(target: ACCESS, tracing::Level::DEBUG) {
            self.line(status, took, |line| {
                tracing::debug!(
                    target: ACCESS, request = %line.request, trace = line.trace, method = %line.method,
                    path = line.path, status = line.status, ms = line.ms, rows = line.rows, client = line.client,
                    user = line.user, "request"
                );
            });
        }
    }

    fn line(&self, status: StatusCode, took: Duration, write: impl FnOnce(Line<'_>)) {
        write(Line {
            request: self.request_id,
            trace: self.seen.place.map(|place| place.trace_id()),
            method: &self.head.method,
            path: self.head.uri.path(),
            status: status.as_u16(),
            ms: (took.as_secs_f64() * 1e5).round() / 100.0,
            rows: self.seen.read().map(|read| read.rows),
            client: self.peer.map(|peer| peer.0.to_string()),
            user: self.seen.user(),
        });
    }
}

/// What the log says of a request.
struct Line<'r> {
    request: &'r RequestId,
    trace: Option<String>,
    method: &'r Method,
    path: &'r str,
    status: u16,
    ms: f64,
    rows: Option<u64>,
    client: Option<String>,
    user: Option<&'r str>,
}
