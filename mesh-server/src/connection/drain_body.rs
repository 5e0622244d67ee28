//! Reads the rest of a request body that was not needed for the reply. `SPEC §9.6`
//!
//! A short rest is read and discarded, so that the next request can follow. With a longer rest the reply announces that the
//! connection closes. The reply is sent at once, and the rest is still read for a while in the background: many clients read
//! a reply only after they have sent their request, and closing the connection (or resetting the HTTP/2 stream) before that
//! can discard the reply.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;

use super::activity::RequestGuard;

/// Bytes that are read so that the connection can be reused.
const MAX_DISCARDED: usize = 64 * 1024;
/// How long a rest of up to [`MAX_DISCARDED`] bytes may take to arrive.
const REUSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that are read in the background so that the reply arrives: more than the largest upload unless configured.
const LINGER_BYTES: usize = 32 * 1024 * 1024;
/// How long a body is read in the background.
const LINGER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the sender of a body that is read in the background may pause.
const LINGER_PAUSE: Duration = Duration::from_secs(3);

/// A request body of which the connection keeps a reference, so that it can read the rest.
#[derive(Clone)]
pub(super) struct SharedBody(Arc<Mutex<State>>);

struct State {
    body: Incoming,
    was_polled: bool,
    /// The request is active for as long as its body is read.
    _guard: Arc<RequestGuard>,
}

impl SharedBody {
    pub(super) fn new(body: Incoming, guard: Arc<RequestGuard>) -> Self {
        Self(Arc::new(Mutex::new(State { body, was_polled: false, _guard: guard })))
    }

    /// Discards the rest of the body of a request, if the handler does not read it any more. Returns whether the connection
    /// can take another request.
    pub(super) async fn drain(mut self, version: Version, expects_continue: bool) -> bool {
        let is_http2 = version == Version::HTTP_2;
        // The other reference is that of a handler, which may read the body while it writes its reply.
        if self.is_end_stream() || Arc::strong_count(&self.0) > 1 {
            return true;
        }
        // Reading the body would send `100 Continue`, which requests it.
        if expects_continue && !is_http2 && !self.0.lock().was_polled {
            return false;
        }
        if !is_http2 && self.size_hint().lower() <= MAX_DISCARDED as u64 {
            let discarding = self.discard(MAX_DISCARDED);
            if tokio::time::timeout(REUSE_TIMEOUT, discarding).await == Ok(true) {
                return true;
            }
        }
        tokio::spawn(async move {
            let _ = tokio::time::timeout(LINGER_TIMEOUT, self.discard(LINGER_BYTES)).await;
        });
        is_http2
    }

    /// Reads to the end. Returns `false` if the rest is longer than `limit` bytes, pauses or breaks off.
    async fn discard(&mut self, limit: usize) -> bool {
        let mut left = limit;
        loop {
            let length = match tokio::time::timeout(LINGER_PAUSE, self.frame()).await {
                Ok(None) => return true,
                Ok(Some(Ok(frame))) => frame.data_ref().map_or(0, Bytes::len),
                Ok(Some(Err(_))) | Err(_) => return false,
            };
            let Some(rest) = left.checked_sub(length) else { return false };
            left = rest;
        }
    }
}

impl Body for SharedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut state = self.0.lock();
        state.was_polled = true;
        Pin::new(&mut state.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().body.size_hint()
    }
}
