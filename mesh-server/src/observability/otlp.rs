//! Export of requests as OpenTelemetry spans, in batches of OTLP over HTTP in JSON.
//!
//! Requests never wait for the collector: spans that it does not accept in time are dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::Full;
use mesh_wire::RequestId;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::https_client::{HttpUrl, HttpsClient};
use crate::observability::record::{Facts, RouteKind, nanoseconds};
use crate::observability::trace_context::TraceContext;
use crate::pipeline::body::BoxError;

/// The path of traces below the address of a collector.
const PATH: &str = "/v1/traces";
/// The maximum number of spans that wait to be sent. Further spans are dropped.
const QUEUE: usize = 8_192;
/// The maximum number of spans in a batch.
const BATCH: usize = 512;
/// How long a batch waits for further spans.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// The time limit for sending a batch.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The kind of a server's span.
const SPAN_KIND_SERVER: u8 = 2;
/// The status code of a failed span.
const STATUS_CODE_ERROR: u8 = 2;

/// Returns the URL to which a collector takes OTLP over HTTP, given the URL of the collector; `None` if that is not a URL or
/// contains credentials or a query.
///
/// ```
/// let url = mesh_server::otlp::traces_url("https://collector.example").unwrap();
/// assert_eq!(url.to_string(), "https://collector.example/v1/traces");
/// ```
pub fn traces_url(text: &str) -> Option<HttpUrl> {
    let HttpUrl(uri) = HttpUrl::parse(text).ok().filter(|url| url.0.query().is_none())?;
    let base = uri.to_string();
    let base = base.trim_end_matches('/');
    HttpUrl::parse(&format!("{}{PATH}", base.strip_suffix(PATH).unwrap_or(base))).ok()
}

/// Sends spans of requests to a collector, for [`crate::AppOptions::spans`]. Cheap to clone; clones share the queue.
#[derive(Clone, Debug)]
pub struct Spans {
    sender: mpsc::Sender<Span>,
    lost: Arc<AtomicU64>,
}

/// The span of one request.
#[derive(Clone, Debug)]
struct Span {
    trace: TraceContext,
    route: RouteKind,
    request_id: String,
    status: u16,
    rows: Option<u64>,
    /// Nanoseconds since the Unix epoch.
    start: u64,
    end: u64,
}

impl Spans {
    /// Starts a task that sends spans to a URL ([`traces_url`]) under the name of a service. Each batch has these headers, such as the
    /// API key of a vendor.
    ///
    /// # Panics
    /// There is no current tokio runtime.
    pub fn new(url: HttpUrl, headers: HeaderMap, service: &str) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        match HttpsClient::new(&url.0) {
            Ok(client) => {
                let collector = Collector { client, url, headers };
                tokio::spawn(export(collector, service.to_owned(), receiver, Arc::clone(&lost)));
            }
            Err(error) => tracing::error!("traces cannot be sent: {error}"),
        }
        Self { sender, lost }
    }

    /// Returns the number of spans that were dropped or that the collector did not accept.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Queues the span of a request that ends now, if the caller records the trace.
    pub(crate) fn record(
        &self,
        trace: TraceContext,
        facts: &Facts,
        request_id: &RequestId,
        status: u16,
        duration: Duration,
    ) {
        if !trace.sampled {
            return;
        }
        let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let span = Span {
            trace,
            route: facts.route,
            request_id: request_id.as_str().to_owned(),
            status,
            rows: facts.read.map(|read| read.rows),
            start: nanoseconds(end.saturating_sub(duration)),
            end: nanoseconds(end),
        };
        if self.sender.try_send(span).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A collector, and the client that sends batches to it.
struct Collector {
    client: HttpsClient<Full<Bytes>>,
    url: HttpUrl,
    headers: HeaderMap,
}

impl Collector {
    async fn send(&self, batch: String) -> Result<(), BoxError> {
        self.client.post_json(&self.url.0, self.headers.clone(), batch, SEND_TIMEOUT).await
    }
}

/// Sends batches until all senders are dropped.
async fn export(
    collector: Collector,
    service: String,
    mut spans: mpsc::Receiver<Span>,
    lost: Arc<AtomicU64>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut failing = false;
    while spans.recv_many(&mut batch, BATCH).await > 0 {
        let until = tokio::time::Instant::now() + BATCH_DELAY;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            match tokio::time::timeout_at(until, spans.recv_many(&mut batch, room)).await {
                Ok(more) if more > 0 => {}
                _ => break,
            }
        }
        let sent = collector.send(encode(&service, &batch)).await;
        if let Err(error) = &sent {
            lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
            // The failure is logged once per outage, because an outage may be long.
            if !failing {
                tracing::warn!("traces cannot be sent to {}: {error}", collector.url);
            }
        }
        failing = sent.is_err();
        batch.clear();
    }
}

/// Encodes a batch as OTLP in JSON.
fn encode(service: &str, spans: &[Span]) -> String {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", service), text("service.version", env!("CARGO_PKG_VERSION"))]},
        "scopeSpans": [{"scope": {"name": "mesh-server"}, "spans": spans}],
    }]})
    .to_string()
}

/// Encodes a span: ids as hex digits, 64-bit integers as text.
fn span(span: &Span) -> Value {
    let labels = RouteKind::ALL.iter().find(|(kind, ..)| *kind == span.route);
    let (method, route) = labels.map_or(("", ""), |(_, method, path)| (*method, *path));
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
        "kind": SPAN_KIND_SERVER,
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes,
        "status": if span.status >= 500 { json!({"code": STATUS_CODE_ERROR}) } else { json!({}) },
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

#[cfg(feature = "tls")]
#[cfg(test)]
mod tests;
