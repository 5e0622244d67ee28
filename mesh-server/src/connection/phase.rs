//! The phases of a connection: waiting, answering requests of HTTP/1.1 or HTTP/2, or sending an event stream.
//!
//! The implementation of HTTP/1.1 has 16 KiB of buffers for each connection. A connection that waits for its next request
//! gives them up after a while, and so does one whose reply is an event stream.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use hyper::body::Incoming;
use hyper::rt::bounds::Http2ServerConnExec;
use hyper::server::conn::{http1, http2};
use hyper::service::HttpService;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

use super::events;
use super::reply_body::ReplyBody;
use super::stream::{ConnectionStream, Protocol};
use super::timeouts::Timeouts;
use crate::App;
use crate::pipeline::body::BoxError;

/// The parser accepts heads this many times larger than the application's limit, so that the application can refuse
/// them with an error reply.
const HEAD_SIZE_FACTOR: usize = 4;
/// Concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;
/// HTTP/2 streams that a client may open and reset before the server has accepted them.
const MAX_PENDING_RESETS: usize = 50;
/// HTTP/2 streams that may be reset for errors of the client before the connection is closed.
const MAX_ERROR_RESETS: usize = 200;
/// The event stream that a connection of HTTP/1.1 is to send.
pub(super) type EventsSlot = Arc<Mutex<Option<Box<Response<ReplyBody>>>>>;

/// HTTP/1.1 and HTTP/2 with their limits.
pub(super) struct HttpBuilder {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

impl HttpBuilder {
    pub(super) fn new(app: &App, timeouts: &Timeouts) -> Self {
        let head_size = app.shared.limits.header_bytes.saturating_mul(HEAD_SIZE_FACTOR).max(64 * 1024);
        let mut http1 = http1::Builder::new();
        // `Activity` applies the head timeout, also before the first byte and to both protocols.
        http1.header_read_timeout(None).max_buf_size(head_size).half_close(false);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
            .max_local_error_reset_streams(MAX_ERROR_RESETS)
            .max_header_list_size(u32::try_from(head_size).unwrap_or(u32::MAX))
            .keep_alive_interval(Some(timeouts.ping))
            .keep_alive_timeout(timeouts.pong);
        Self { http1, http2 }
    }

    fn serve<S, V>(&self, stream: ConnectionStream<S>, protocol: Protocol, service: V) -> Phase<S, V>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        V: HttpService<Incoming, ResBody = ReplyBody>,
        V::Error: Into<BoxError>,
        V::Future: 'static,
        TokioExecutor: Http2ServerConnExec<V::Future, ReplyBody>,
    {
        let stream = TokioIo::new(stream);
        match protocol {
            Protocol::Http1 => Phase::Http1(Box::new(self.http1.serve_connection(stream, service))),
            Protocol::Http2 => Phase::Http2(Box::pin(self.http2.serve_connection(stream, service))),
        }
    }
}

type Http1<S, V> = http1::Connection<TokioIo<ConnectionStream<S>>, V>;
type Http2<S, V> = http2::Connection<TokioIo<ConnectionStream<S>>, V, TokioExecutor>;

/// The phase of a connection. It has the buffers of a protocol only while the connection answers requests, and shortly
/// after.
pub(super) enum Phase<S, V>
where
    V: HttpService<Incoming>,
{
    /// Waiting for the first bytes of a request.
    Waiting(ConnectionStream<S>),
    Http1(Box<Http1<S, V>>),
    Http2(Pin<Box<Http2<S, V>>>),
    /// Sending an event stream over HTTP/1.1, or closing.
    Last(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>),
    Ended,
}

impl<S, V> Phase<S, V>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    V: HttpService<Incoming, ResBody = ReplyBody>,
    V::Error: Into<BoxError>,
    TokioExecutor: Http2ServerConnExec<V::Future, ReplyBody>,
    V::Future: 'static,
{
    /// Proceeds until the connection has ended.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        builder: &HttpBuilder,
        service: &impl Fn() -> V,
        events_slot: &EventsSlot,
    ) -> Poll<Result<(), BoxError>> {
        loop {
            let next = match self {
                Self::Waiting(stream) => match ready!(stream.poll_protocol(cx))? {
                    Some(protocol) => {
                        self.take_stream().map(|stream| builder.serve(stream, protocol, service()))
                    }
                    None => None,
                },
                Self::Http1(connection) => match Pin::new(&mut **connection).poll(cx)? {
                    Poll::Ready(()) => None,
                    Poll::Pending => {
                        let Some(reply) = events_slot.lock().take() else { return Poll::Pending };
                        let stream = self.take_stream();
                        stream.map(|stream| Self::Last(Box::pin(events::send(stream, *reply))))
                    }
                },
                Self::Http2(connection) => return connection.as_mut().poll(cx).map_err(Into::into),
                Self::Last(last) => return last.as_mut().poll(cx).map_err(Into::into),
                Self::Ended => None,
            };
            match next {
                Some(next) => *self = next,
                None => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Returns whether the connection has buffers that it can give up when it is idle.
    pub(super) fn can_release(&self) -> bool {
        matches!(self, Self::Http1(_))
    }

    /// Gives up the buffers of a connection of HTTP/1.1 that is idle and whose client has not stalled.
    pub(super) fn release(&mut self) {
        if let Self::Http1(_) = self {
            *self = self.take_stream().map_or(Self::Ended, Self::Waiting);
        }
    }

    /// Takes the stream of an HTTP/1.1 connection whose replies are all written.
    fn take_stream(&mut self) -> Option<ConnectionStream<S>> {
        match std::mem::replace(self, Self::Ended) {
            Self::Waiting(stream) => Some(stream),
            Self::Http1(connection) => {
                let parts = connection.into_parts();
                let mut stream = parts.io.into_inner();
                stream.put_back(&parts.read_buf);
                Some(stream)
            }
            other => {
                *self = other;
                None
            }
        }
    }

    /// Closes the connection as soon as it has no active requests.
    pub(super) fn close(&mut self) {
        match self {
            Self::Waiting(_) => {
                if let Some(mut stream) = self.take_stream() {
                    let closing = async move { poll_fn(|cx| Pin::new(&mut stream).poll_shutdown(cx)).await };
                    *self = Self::Last(Box::pin(closing));
                }
            }
            Self::Http1(connection) => Pin::new(&mut **connection).graceful_shutdown(),
            Self::Http2(connection) => connection.as_mut().graceful_shutdown(),
            Self::Last(_) | Self::Ended => {}
        }
    }
}
