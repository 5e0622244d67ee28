//! What a connection waits for, which decides its timeout: the head of a request, the next request, or nothing.

use std::sync::Arc;
use std::time::Duration;

use http::Version;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::timeouts::Timeouts;

/// The state of a connection. Its stream and its requests write it; the task that enforces its timeouts reads it.
pub(super) struct Activity(Mutex<State>);

struct State {
    /// Requests that are not yet answered completely.
    active_requests: usize,
    /// Also set before the first byte of a connection.
    is_reading_head: bool,
    /// In HTTP/2, received bytes need not belong to a head.
    is_http2: bool,
    is_draining: bool,
    /// While the client accepts no bytes, the timeout of writes applies.
    is_write_pending: bool,
    /// When the connection was opened, the last reply was sent, or the first byte of a head was received.
    since: Instant,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            active_requests: 0,
            is_reading_head: true,
            is_http2: false,
            is_draining: false,
            is_write_pending: false,
            since: Instant::now(),
        })))
    }

    /// Returns the time left until the head or idle timeout expires; `None` while a request is being answered or
    /// its reply waits to be sent.
    pub(super) fn remaining(&self, timeouts: &Timeouts) -> Option<Duration> {
        let state = self.0.lock();
        let timeout = if state.is_reading_head { timeouts.head } else { timeouts.idle };
        let is_waiting = state.active_requests == 0 && !state.is_write_pending;
        is_waiting.then(|| timeout.saturating_sub(state.since.elapsed()))
    }

    /// Registers a request until the returned guard is dropped.
    pub(super) fn start_request(self: &Arc<Self>, version: Version) -> RequestGuard {
        let mut state = self.0.lock();
        state.active_requests += 1;
        state.is_reading_head = false;
        state.is_http2 = version == Version::HTTP_2;
        RequestGuard(Arc::clone(self))
    }

    /// Makes each further HTTP/1 reply the last one of the connection.
    pub(super) fn drain(&self) {
        self.0.lock().is_draining = true;
    }

    /// Records that the client has begun to speak HTTP/2.
    pub(super) fn set_http2(&self) {
        let mut state = self.0.lock();
        state.is_http2 = true;
        state.is_reading_head = false;
    }

    /// Records whether written bytes wait for the client to accept more.
    pub(super) fn set_write_pending(&self, is_pending: bool) {
        let mut state = self.0.lock();
        state.is_write_pending = is_pending;
        state.since = Instant::now();
    }

    /// Records that bytes were received.
    pub(super) fn bytes_received(&self) {
        let mut state = self.0.lock();
        if state.active_requests == 0 && !state.is_http2 && !state.is_reading_head {
            state.is_reading_head = true;
            state.since = Instant::now();
        }
    }
}

/// A request, from its head until the body of its reply is sent or dropped.
pub(super) struct RequestGuard(Arc<Activity>);

impl RequestGuard {
    /// Returns whether the reply should close the connection.
    pub(super) fn is_last(&self) -> bool {
        self.0.0.lock().is_draining
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.active_requests -= 1;
        state.since = Instant::now();
    }
}
