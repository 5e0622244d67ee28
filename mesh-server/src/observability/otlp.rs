//! How does a collector learn of requests? Each is a span, sent in batches as OTLP over HTTP, in JSON.
//!
//! Requests never wait for it: what a collector does not take in time is dropped and counted.

mod encode;
mod post;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use mesh_wire::RequestId;
use tokio::sync::mpsc;

use crate::observability::record::{RequestRecord, RouteKind};
use crate::observability::trace_context::TraceContext;
pub use post::{Endpoint, EndpointError};

/// Spans that wait to be sent; later ones are dropped.
const WAITING: usize = 8_192;
/// Spans of one batch.
const BATCH: usize = 512;
/// How long a span waits for others at the most.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where spans of requests go, for [`crate::AppBuilder::spans`]. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Spans {
    sender: mpsc::Sender<Span>,
    lost: Arc<AtomicU64>,
}

/// One request, as collectors see it.
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
    /// Sends spans to that collector in a task of its own, under that name of the service. Needs a runtime.
    pub fn to(endpoint: Endpoint, service: &str) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        tokio::spawn(send(endpoint, service.to_owned(), receiver, Arc::clone(&lost)));
        Self { sender, lost }
    }

    /// Spans that no collector has taken.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Tells of a request that took so long until now. One whose caller does not record it is not told of.
    pub(crate) fn record(
        &self,
        trace: TraceContext,
        record: &RequestRecord,
        request_id: &RequestId,
        status: u16,
        took: Duration,
    ) {
        if !trace.sampled {
            return;
        }
        let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let span = Span {
            trace,
            route: record.route(),
            request_id: request_id.as_str().to_owned(),
            status,
            rows: record.read().map(|read| read.rows),
            start: nanoseconds(end.saturating_sub(took)),
            end: nanoseconds(end),
        };
        if self.sender.try_send(span).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").field("lost", &self.lost).finish_non_exhaustive()
    }
}

/// Sends what comes, until nobody can tell of anything any more.
async fn send(endpoint: Endpoint, service: String, mut spans: mpsc::Receiver<Span>, lost: Arc<AtomicU64>) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut failing = false;
    while spans.recv_many(&mut batch, BATCH).await > 0 {
        let until = tokio::time::Instant::now() + PAUSE;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            match tokio::time::timeout_at(until, spans.recv_many(&mut batch, room)).await {
                Ok(more) if more > 0 => {}
                _ => break,
            }
        }
        let body = Bytes::from(encode::batch(&service, &batch));
        let sent = tokio::time::timeout(PATIENCE, endpoint.post(body)).await;
        let sent = sent.unwrap_or_else(|_| Err(format!("no answer within {PATIENCE:?}")));
        if let Err(error) = &sent {
            lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
            // Once, not with each batch: a collector may be away for long.
            if !failing {
                tracing::warn!("traces cannot be sent to {endpoint}: {error}");
            }
        }
        failing = sent.is_err();
        batch.clear();
    }
}

#[cfg(test)]
mod tests;
