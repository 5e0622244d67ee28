//! Reads the rest of a request body that was not needed for the reply.
//!
//! A request that is refused because of its head leaves its body on the connection. A short rest is read and discarded so
//! that the next request can follow. With a longer rest the reply announces that the connection closes; otherwise the
//! client would send its next request into a closing connection. The reply is sent at once, and the rest of the body is
//! still read for a while in the background: many clients read a reply only after they have sent their request, and
//! closing the connection (or resetting the HTTP/2 stream) before that can discard the reply.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http::header::EXPECT;
use http::request::Parts;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;

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
            // Reading the body would send `100 Continue`, which requests it.
            Some(_) if self.expects_continue && !self.is_http2 => false,
            Some(body) if self.is_http2 || body.size_hint().lower() > MAX_DISCARDED as u64 => {
                tokio::spawn(linger(body));
                self.is_http2
            }
            Some(mut body) => {
                let discarding = discard(&mut body, MAX_DISCARDED);
                let is_read = tokio::time::timeout(REUSE_TIMEOUT, discarding).await.unwrap_or(false);
                if !is_read {
                    tokio::spawn(linger(body));
                }
                is_read
            }
        }
    }
}

/// Discards a body until its end, or until a limit of [`LINGER_BYTES`], [`LINGER_TIMEOUT`] or [`LINGER_PAUSE`].
async fn linger(mut body: Incoming) {
    let discarding = discard(&mut body, LINGER_BYTES);
    let _ = tokio::time::timeout(LINGER_TIMEOUT, discarding).await;
}

/// Reads a body to its end. Returns `false` if it is longer than `limit` bytes, pauses or breaks off.
async fn discard(body: &mut Incoming, limit: usize) -> bool {
    let mut left = limit;
    loop {
        match tokio::time::timeout(LINGER_PAUSE, body.frame()).await {
            Ok(None) => return true,
            Ok(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                match left.checked_sub(length) {
                    Some(rest) => left = rest,
                    None => return false,
                }
            }
            Ok(Some(Err(_))) | Err(_) => return false,
        }
    }
}
