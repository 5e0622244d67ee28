//! May a connection go on after a reply that came before the whole of its request was read?
//!
//! A request that is refused by its head leaves its body behind. What of it is there, or comes at once, is read and
//! thrown away, and the next request follows it. Where there is more, the connection ends with this reply, which has
//! to say so: a client that is not told sends its next request into a connection that closes. In HTTP/2 other requests
//! are not held up, but a stream that is reset while its client is still sending can take the reply with it.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::Either;
use http::header::EXPECT;
use http::request::Parts;
use http::{Response, Version};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::app::Begun;

/// How much is read only to be thrown away.
const MOST: usize = 64 * 1024;
/// How long that is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a stream of HTTP/2 is read on beside its reply.
const LINGER: Duration = Duration::from_secs(2);

/// The body of a request, which gives back what nobody has read of it.
pub(super) struct Taken {
    body: Option<Incoming>,
    rest: Option<Arc<Rest>>,
}

impl Taken {
    /// Takes a request's body. `None` where the connection can go on whatever becomes of it.
    pub(super) fn of(head: &Parts, body: Incoming) -> (Self, Option<Unread>) {
        let rest = (!body.is_end_stream()).then(Arc::<Rest>::default);
        let unread = rest.clone().map(|rest| Unread {
            rest,
            is_stream: head.version == Version::HTTP_2,
            // A client that waits to be told to send its body does not send it.
            holds_back: head.headers.contains_key(EXPECT),
        });
        (Self { body: Some(body), rest }, unread)
    }
}

impl Body for Taken {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(cx));
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

impl Drop for Taken {
    fn drop(&mut self) {
        if let (Some(body), Some(rest)) = (self.body.take(), &self.rest)
            && !body.is_end_stream()
        {
            *rest.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

/// Where a body is put that was not read to its end.
#[derive(Default)]
struct Rest(Mutex<Option<Incoming>>);

/// What may be left of a request when its reply is there.
pub(super) struct Unread {
    rest: Arc<Rest>,
    is_stream: bool,
    holds_back: bool,
}

/// Finishes the reply of a request, of which there may be something left: it is told whether the connection goes on.
/// Where a reply is there and nothing is left, nothing is waited for.
pub(super) fn then<T>(
    begun: Begun,
    unread: Option<Unread>,
    finish: impl FnOnce(Response<crate::Body>, bool) -> T,
) -> impl Future<Output = T> {
    match (begun, unread) {
        (Begun::Done(reply), None) => Either::Left(ready(finish(reply, true))),
        (Begun::Later(reply), None) => Either::Right(Either::Left(reply.map(|reply| finish(reply, true)))),
        (begun, Some(unread)) => {
            Either::Right(Either::Right(unread.after(begun).map(|(reply, goes_on)| finish(reply, goes_on))))
        }
    }
}

impl Unread {
    /// The reply, and whether another request can follow it.
    async fn after(self, begun: Begun) -> (Response<crate::Body>, bool) {
        let reply = match begun {
            Begun::Done(reply) => reply,
            Begun::Later(reply) => reply.await,
        };
        let rest = self.rest.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let goes_on = match rest {
            None => true,
            Some(body) if self.is_stream => {
                tokio::spawn(tokio::time::timeout(LINGER, read_out(body, usize::MAX)));
                true
            }
            Some(body) if self.holds_back || body.size_hint().lower() > MOST as u64 => false,
            Some(body) => tokio::time::timeout(PATIENCE, read_out(body, MOST)).await.unwrap_or(false),
        };
        (reply, goes_on)
    }
}

/// Reads a body of at most that many bytes to its end; whether there was one.
async fn read_out(body: Incoming, most: usize) -> bool {
    let mut body = Limited::new(body, most);
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            return false;
        }
    }
    true
}
