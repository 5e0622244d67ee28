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
pub(super) const MAX_PIECE_BYTES: usize = 16 * 1024;

/// A body with the guard of its request, which is active until the body is sent. Long frames are sent in pieces, so that it is
/// known how much of them the client has accepted.
pub(super) struct ReplyBody {
    body: Body,
    /// What is left of the frame that is being sent in pieces.
    rest: Bytes,
    unread: Option<Arc<UnreadReply>>,
    guard: Arc<RequestGuard>,
}

/// A piece of a registered reply, which is dropped when it is sent.
struct Piece {
    bytes: Bytes,
    unread: Arc<UnreadReply>,
    _guard: Arc<RequestGuard>,
}

impl ReplyBody {
    /// Wraps the body of a reply, and registers it if [`UnreadReplies`] has to know its reader.
    pub(super) fn wrap(
        reply: Response<Body>,
        guard: Arc<RequestGuard>,
        version: Version,
        unread: &UnreadReplies,
        close: &Arc<Notify>,
    ) -> Response<Self> {
        reply.map(|body| {
            let whole = body.whole().map(Bytes::len);
            let is_registered =
                version == Version::HTTP_2 || whole.is_none_or(|length| length > MAX_PIECE_BYTES);
            let unread = is_registered.then(|| unread.add(whole.unwrap_or_default(), version, close));
            Self { body, rest: Bytes::new(), unread, guard }
        })
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.unread.sent(self.bytes.len());
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
                    this.unread.iter().for_each(|unread| unread.await_frame());
                    return other;
                }
            }
            if let Some(unread) = &this.unread
                && this.body.whole().is_none()
            {
                unread.take_frame(&this.rest);
            }
        }
        let mut bytes = this.rest.split_to(this.rest.len().min(MAX_PIECE_BYTES));
        if let Some(unread) = &this.unread {
            unread.hand_over(bytes.len());
            let (unread, guard) = (Arc::clone(unread), Arc::clone(&this.guard));
            bytes = Bytes::from_owner(Piece { bytes, unread, _guard: guard });
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
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
