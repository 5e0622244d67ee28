//! The body of a reply as a connection sends it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Version;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::activity::RequestGuard;
use crate::Body;
use crate::clients::Outbox;
use crate::pipeline::body::BoxError;

/// Bytes of one piece, which fit into a frame of HTTP/2.
const MAX_PIECE_BYTES: usize = 16 * 1024;

/// A body with the guard of its request, which is active until the body is sent.
///
/// In HTTP/2, where a client accepts the bytes of each stream separately, the body is sent in pieces that the [`Outbox`]
/// of the connection tracks, so that a stream that is not read is noticed.
pub(super) struct ReplyBody {
    body: Body,
    /// What is left of the frame that is being sent in pieces.
    rest: Bytes,
    outbox: Option<Arc<Outbox>>,
    _guard: RequestGuard,
}

impl ReplyBody {
    pub(super) fn new(body: Body, guard: RequestGuard, version: Version) -> Self {
        let outbox = (version == Version::HTTP_2).then(|| Arc::clone(guard.outbox()));
        Self { body, rest: Bytes::new(), outbox, _guard: guard }
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
        let Some(outbox) = &this.outbox else { return Pin::new(&mut this.body).poll_frame(cx) };
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => this.rest = bytes,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(MAX_PIECE_BYTES));
        Poll::Ready(Some(Ok(Frame::data(outbox.track(piece)))))
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
