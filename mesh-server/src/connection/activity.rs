//! The state of a connection that decides which timeout applies to it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use super::timeouts::Timeouts;
use crate::{Body, BodyError};

/// Written by the stream and the requests of a connection, read by the task that enforces its timeouts.
///
/// The fields are independent of each other, so relaxed ordering suffices: a stale value is corrected at the next
/// check.
pub(super) struct Activity {
    opened_at: Instant,
    /// Requests that are not yet answered completely.
    active_requests: AtomicUsize,
    has_request: AtomicBool,
    is_reading_head: AtomicBool,
    is_draining: AtomicBool,
    is_http2: AtomicBool,
    /// When one of the above changed last, in milliseconds since `opened_at`.
    changed_at: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            opened_at: Instant::now(),
            active_requests: AtomicUsize::new(0),
            has_request: AtomicBool::new(false),
            is_reading_head: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            changed_at: AtomicU64::new(0),
        }
    }

    /// Returns the time left until the head or idle timeout expires; `None` while a request is being answered.
    pub(super) fn remaining(&self, timeouts: &Timeouts) -> Option<Duration> {
        if self.active_requests.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let idle_millis = self.age_millis().saturating_sub(self.changed_at.load(Ordering::Relaxed));
        let is_http2 = self.is_http2.load(Ordering::Relaxed);
        let expects_head =
            self.is_reading_head.load(Ordering::Relaxed) || !self.has_request.load(Ordering::Relaxed);
        let timeout = if expects_head && !is_http2 { timeouts.head } else { timeouts.idle };
        Some(timeout.saturating_sub(Duration::from_millis(idle_millis)))
    }

    /// Returns whether the connection can be closed gracefully: it is not in the middle of an HTTP/1 head.
    pub(super) fn is_between_requests(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed) || !self.is_reading_head.load(Ordering::Relaxed)
    }

    /// Registers a request until the returned guard is dropped.
    pub(super) fn start_request(self: &Arc<Self>) -> RequestGuard {
        self.active_requests.fetch_add(1, Ordering::Relaxed);
        self.has_request.store(true, Ordering::Relaxed);
        self.is_reading_head.store(false, Ordering::Relaxed);
        RequestGuard(Arc::clone(self))
    }

    /// Makes each further HTTP/1 reply the last one of the connection.
    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Records that the client speaks HTTP/2, where received bytes need not belong to a head.
    pub(super) fn set_http2(&self) {
        self.is_http2.store(true, Ordering::Relaxed);
    }

    /// Records that bytes were received.
    pub(super) fn bytes_received(&self) {
        if self.active_requests.load(Ordering::Relaxed) == 0
            && !self.is_http2.load(Ordering::Relaxed)
            && !self.is_reading_head.swap(true, Ordering::Relaxed)
        {
            self.touch();
        }
    }

    fn touch(&self) {
        self.changed_at.store(self.age_millis(), Ordering::Relaxed);
    }

    fn age_millis(&self) -> u64 {
        u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A request, from its head to the last byte of its reply.
pub(super) struct RequestGuard(Arc<Activity>);

impl RequestGuard {
    /// Returns whether the reply should close the connection.
    pub(super) fn is_last(&self) -> bool {
        self.0.is_draining.load(Ordering::Relaxed)
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.touch();
        self.0.active_requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of a reply, which keeps its request active until it is sent.
pub(super) struct TrackedBody {
    pub(super) body: Body,
    pub(super) _request: RequestGuard,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
