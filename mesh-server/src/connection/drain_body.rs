//! Reads the rest of a request body that was not needed for the reply.
//!
//! A request that is refused by its head leaves its body on the connection. A short rest is read and discarded so that
//! the next request can follow. With a longer rest the reply announces that the connection closes; otherwise the client
//! would send its next request into a closing connection. In HTTP/2 the rest blocks no other request, but resetting a
//! stream that is still being sent can discard its reply, so the stream is read for a while in the background.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::Version;
use http::header::EXPECT;
use http::request::Parts;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;

/// Bytes that are read only to be discarded.
const MAX_DISCARDED: usize = 64 * 1024;
/// How long the rest of an HTTP/1 body may take to arrive.
const HTTP1_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the rest of an HTTP/2 body is read in the background.
const HTTP2_TIMEOUT: Duration = Duration::from_secs(2);

/// A request body whose unread rest goes to its [`DrainBody`] when it is dropped.
pub(super) struct DrainableBody {
    body: Option<Incoming>,
    unread: Option<Arc<Mutex<Option<Incoming>>>>,
}

impl DrainableBody {
    /// Wraps the body of a request. Returns no [`DrainBody`] for an empty body, which leaves nothing to read.
    pub(super) fn new(head: &Parts, body: Incoming) -> (Self, Option<DrainBody>) {
        let unread = (!body.is_end_stream()).then(Arc::default);
        let drain = unread.clone().map(|unread| DrainBody {
            unread,
            is_http2: head.version == Version::HTTP_2,
            expects_continue: head.headers.contains_key(EXPECT),
        });
        (Self { body: Some(body), unread }, drain)
    }
}

impl Body for DrainableBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = task::ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for DrainableBody {
    fn drop(&mut self) {
        if let (Some(body), Some(unread)) = (self.body.take(), &self.unread)
            && !body.is_end_stream()
        {
            *unread.lock() = Some(body);
        }
    }
}

/// The part of a request body that may be unread when the reply is ready.
pub(super) struct DrainBody {
    unread: Arc<Mutex<Option<Incoming>>>,
    is_http2: bool,
    /// The client sends the body only after `100 Continue`, which it does not get.
    expects_continue: bool,
}

impl DrainBody {
    /// Discards the rest of the body. Returns whether the connection can take another request.
    pub(super) async fn finish(self) -> bool {
        let unread = self.unread.lock().take();
        match unread {
            None => true,
            Some(body) if self.is_http2 => {
                tokio::spawn(tokio::time::timeout(HTTP2_TIMEOUT, discard(body, usize::MAX)));
                true
            }
            Some(body) if self.expects_continue || body.size_hint().lower() > MAX_DISCARDED as u64 => false,
            Some(body) => {
                tokio::time::timeout(HTTP1_TIMEOUT, discard(body, MAX_DISCARDED)).await.unwrap_or(false)
            }
        }
    }
}

/// Reads a body to its end. Returns `false` if it is longer than `limit` bytes or breaks off.
async fn discard(body: Incoming, limit: usize) -> bool {
    Limited::new(body, limit).into_data_stream().all(|data| ready(data.is_ok())).await
}
