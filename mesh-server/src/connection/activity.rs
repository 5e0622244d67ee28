//! The state of a connection that decides which timeout applies to it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::timeouts::Timeouts;
use crate::clients::Outbox;

/// The state of a connection. Its stream and its requests write it; the task that enforces its timeouts reads it.
pub(super) struct Activity {
    state: Mutex<State>,
    /// The replies that the client has not accepted.
    pub(super) outbox: Arc<Outbox>,
}

struct State {
    /// Requests that are not yet answered completely.
    active_requests: usize,
    has_request: bool,
    is_reading_head: bool,
    is_draining: bool,
    /// Whether the last reply announces that the connection closes.
    is_closing: bool,
    is_http2: bool,
    /// When the connection was opened, the last reply was sent or the first byte of a head was received.
    idle_since: Instant,
}

impl Activity {
    pub(super) fn new(outbox: Arc<Outbox>) -> Self {
        let state = State {
            active_requests: 0,
            has_request: false,
            is_reading_head: false,
            is_draining: false,
            is_closing: false,
            is_http2: false,
            idle_since: Instant::now(),
        };
        Self { state: Mutex::new(state), outbox }
    }

    /// Returns the time left for the client to accept part of a reply; `None` if no reply waits for it.
    pub(super) fn remaining_stall(&self, timeouts: &Timeouts) -> Option<Duration> {
        let since = self.outbox.stalled_since()?;
        Some(timeouts.write.saturating_sub(since.elapsed()))
    }

    /// Returns the time left until the head or idle timeout expires; `None` while a request is being answered.
    pub(super) fn remaining(&self, timeouts: &Timeouts) -> Option<Duration> {
        let state = self.state.lock();
        if state.active_requests > 0 {
            return None;
        }
        let expects_head = state.is_reading_head || !state.has_request;
        let timeout = if expects_head && !state.is_http2 { timeouts.head } else { timeouts.idle };
        Some(timeout.saturating_sub(state.idle_since.elapsed()))
    }

    /// Returns how long a connection of HTTP/1.1 has been waiting for its next request; `None` if it is not waiting.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        let state = self.state.lock();
        let is_busy =
            state.active_requests > 0 || state.is_reading_head || state.is_http2 || state.is_closing;
        (!is_busy && state.has_request).then(|| state.idle_since.elapsed())
    }

    /// Returns whether the connection can be closed gracefully: it is not in the middle of an HTTP/1 head.
    pub(super) fn is_between_requests(&self) -> bool {
        let state = self.state.lock();
        state.is_http2 || !state.is_reading_head
    }

    /// Registers a request until the returned guard is dropped.
    pub(super) fn start_request(self: &Arc<Self>) -> RequestGuard {
        let mut state = self.state.lock();
        state.active_requests += 1;
        state.has_request = true;
        state.is_reading_head = false;
        RequestGuard(Arc::clone(self))
    }

    /// Makes each further HTTP/1 reply the last one of the connection.
    pub(super) fn drain(&self) {
        self.state.lock().is_draining = true;
    }

    /// Records that the client speaks HTTP/2, where received bytes need not belong to a head.
    pub(super) fn set_http2(&self) {
        self.state.lock().is_http2 = true;
    }

    /// Records that bytes were received.
    pub(super) fn bytes_received(&self) {
        let mut state = self.state.lock();
        if state.active_requests == 0 && !state.is_http2 && !state.is_reading_head {
            state.is_reading_head = true;
            state.idle_since = Instant::now();
        }
    }
}

/// A request, from its head until the body of its reply is dropped.
pub(super) struct RequestGuard(Arc<Activity>);

impl RequestGuard {
    /// Returns the replies of the connection that its client has not accepted.
    pub(super) fn outbox(&self) -> &Arc<Outbox> {
        &self.0.outbox
    }

    /// Records that the reply announces that the connection closes.
    pub(super) fn close(&self) {
        self.0.state.lock().is_closing = true;
    }

    /// Returns whether the reply should close the connection.
    pub(super) fn is_last(&self) -> bool {
        self.0.state.lock().is_draining
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.active_requests -= 1;
        state.idle_since = Instant::now();
    }
}
