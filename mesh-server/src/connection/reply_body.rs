//! The body of a reply as a connection sends it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Response, Version};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Notify;

use super::activity::RequestGuard;
use crate::Body;
use crate::clients::{UnreadReplies, UnreadReply};
use crate::pipeline::body::BoxError;

/// Bytes of one piece, which fit into a frame of HTTP/2.
const MAX_PIECE_BYTES: usize = 16 * 1024;

/// A body with the guard of its request, which is active until the body is sent. Long frames are sent in pieces, because hyper
/// copies what it is given.
pub(super) struct ReplyBody {
    body: Body,
    /// What is left of the frame that is being sent in pieces.
    rest: Bytes,
    unread: Option<Arc<UnreadReply>>,
    _guard: Arc<RequestGuard>,
}

impl ReplyBody {
    /// Wraps the body of a reply, and registers it if [`UnreadReplies`] has to know its reader.
    pub(super) fn wrap(
        reply: Response<Body>,
        guard: RequestGuard,
        version: Version,
        unread: &UnreadReplies,
        close: &Arc<Notify>,
    ) -> Response<Self> {
        let guard = Arc::new(guard);
        reply.map(|body| {
            let length = body.whole().map_or(0, Bytes::len);
            let is_registered = length > MAX_PIECE_BYTES || version == Version::HTTP_2;
            let unread = is_registered.then(|| unread.add(length, version, close));
            // The connection drops a body before it has sent the last bytes.
            let body = match &unread {
                Some(unread) => body.until_sent((Arc::clone(unread), Arc::clone(&guard))),
                None => body,
            };
            Self { body, rest: Bytes::new(), unread, _guard: guard }
        })
    }
}

impl HttpBody for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => this.rest = bytes,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => {
                    this.unread.iter().for_each(|unread| unread.await_bytes());
                    return other;
                }
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(MAX_PIECE_BYTES));
        this.unread.iter().for_each(|unread| unread.hand_over(piece.len()));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
