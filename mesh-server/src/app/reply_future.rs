//! The future of a reply, which is polled once when it is created.
//!
//! Most reads complete in this poll. Their heads are then dropped before hyper reads on, so that it reuses the buffer that
//! held them.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use http::Response;
use http::request::Parts;

use crate::clients::Peer;
use crate::pipeline;
use crate::pipeline::body::RequestBody;
use crate::{App, Body};

/// The future of a reply of a [`MeshService`](crate::MeshService).
pub struct ReplyFuture(State);

enum State {
    /// Empty after the reply was returned.
    Ready(Option<Response<Body>>),
    Pending(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
}

impl ReplyFuture {
    /// Answers a request. Its future is boxed, because a connection reserves space for the future of a request.
    pub(crate) fn new<A>(app: A, head: Parts, peer: Option<Peer>, body: RequestBody) -> Self
    where
        A: Borrow<App> + Send + Sync + 'static,
    {
        let has_body = !body.is_empty();
        let mut request = Box::pin(pipeline::handle(app, head, peer, body, None));
        // hyper passes on what has arrived of a body before it polls the request. It polls a pending request at once, so that no
        // wake-up is lost.
        let mut cx = Context::from_waker(Waker::noop());
        if !has_body && let Poll::Ready(reply) = request.as_mut().poll(&mut cx) {
            return Self(State::Ready(Some(reply)));
        }
        Self(State::Pending(request))
    }
}

impl Future for ReplyFuture {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(reply) => reply.take().map_or(Poll::Pending, |reply| Poll::Ready(Ok(reply))),
            State::Pending(request) => request.as_mut().poll(cx).map(Ok),
        }
    }
}

opaque_debug!(ReplyFuture);
