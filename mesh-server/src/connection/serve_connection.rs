//! Serves one connection: the TLS handshake, HTTP/1.1 or HTTP/2, timeouts, and the reaction to a shutdown.

use std::any::Any;
use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Either;
use http::header::{CONNECTION, HeaderValue};
use http::request::Parts;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;

use super::activity::{Activity, RequestGuard};
use super::drain_body::{DrainBody, DrainableBody};
use super::reply_body::ReplyBody;
use super::stream::ConnectionStream;
use super::timeouts::Timeouts;
#[cfg(feature = "tls")]
use super::tls::{Handshake, Tls};
use crate::clients::{Outbox, Peer};
use crate::pipeline;
use crate::pipeline::body::RequestBody;
use crate::{App, Body, Current};

/// The parser accepts heads this many times larger than the application's limit, so that the application can refuse
/// them with an error reply.
const HEAD_SIZE_FACTOR: usize = 4;
/// Concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;
/// HTTP/2 streams that a client may open and reset before the server has accepted them.
const MAX_PENDING_RESETS: usize = 50;
/// HTTP/2 streams that may be reset for errors of the client before the connection is closed.
const MAX_ERROR_RESETS: usize = 200;
/// How long a connection may take to close gracefully after an idle timeout.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The phase of a server's shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shutdown {
    Running,
    /// Each reply is the last one of its connection.
    Draining,
    /// Connections close as soon as they have no active requests.
    Closing,
    /// The shutdown timeout has expired; connections are dropped.
    Aborted,
}

/// Settings that the connections of a server share.
#[derive(Clone)]
pub(super) struct ConnectionHandler {
    pub(super) app: Current,
    pub(super) builder: Arc<auto::Builder<TokioExecutor>>,
    pub(super) timeouts: Timeouts,
    pub(super) shutdown: watch::Receiver<Shutdown>,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
}

/// Configures HTTP/1.1 and HTTP/2 with their limits.
pub(super) fn http_builder(app: &App, timeouts: &Timeouts) -> auto::Builder<TokioExecutor> {
    let head_size = app.shared.limits.header_bytes.saturating_mul(HEAD_SIZE_FACTOR).max(64 * 1024);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // `Activity` applies the head timeout, also before the first byte and to both protocols.
    builder.http1().header_read_timeout(None).max_buf_size(head_size).half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .max_header_list_size(u32::try_from(head_size).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(timeouts.ping))
        .keep_alive_timeout(timeouts.pong);
    builder
}

impl ConnectionHandler {
    /// Serves an accepted connection to its end.
    #[cfg(feature = "tls")]
    pub(super) async fn accept(mut self, stream: TcpStream, peer: Peer) {
        match self.tls.take() {
            // Boxed, because it needs several times the memory of a connection without TLS.
            Some(tls) => Box::pin(self.accept_tls(tls, stream, peer)).await,
            None => self.serve_app(stream, peer).await,
        }
    }

    #[cfg(feature = "tls")]
    async fn accept_tls(self, tls: Tls, stream: TcpStream, peer: Peer) {
        let mut shutdown = self.shutdown.clone();
        let handshake = tokio::select! {
            handshake = tokio::time::timeout(self.timeouts.handshake, tls.handshake(stream)) => handshake,
            _ = shutdown.wait_for(|phase| *phase >= Shutdown::Closing) => return,
        };
        match handshake {
            Ok(Ok(Handshake::Tls(stream))) => self.serve_app(*stream, peer).await,
            Ok(Ok(Handshake::PlainHttp(stream))) => {
                let refuse =
                    |app: Arc<App>, head: Parts, _| ready(pipeline::refuse_plain(&app.shared, &head));
                self.serve_connection(stream, peer.outbox, refuse).await;
            }
            Ok(Err(error)) => tracing::debug!("TLS handshake failed: {error}"),
            Err(_) => tracing::debug!("TLS handshake not completed within {:?}", self.timeouts.handshake),
        }
    }

    /// Serves an accepted connection to its end.
    #[cfg(not(feature = "tls"))]
    pub(super) async fn accept(self, stream: TcpStream, peer: Peer) {
        self.serve_app(stream, peer).await;
    }

    /// Answers the requests on a connection from a peer.
    async fn serve_app<S>(self, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let outbox = peer.outbox.clone();
        let answer = move |app: Arc<App>, head: Parts, body: RequestBody| {
            let peer = peer.clone();
            async move { pipeline::handle(&app.shared, &head, Some(&peer), body).await }
        };
        self.serve_connection(stream, outbox, answer).await;
    }

    /// Answers each request on a connection with `respond`.
    async fn serve_connection<S, R, F>(self, stream: S, outbox: Option<Arc<Outbox>>, respond: R)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        R: Fn(Arc<App>, Parts, RequestBody) -> F,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let activity = Arc::new(Activity::new(outbox.unwrap_or_default()));
        let stream = ConnectionStream::new(stream, Arc::clone(&activity), self.timeouts.write);
        let (app, request_activity) = (RefCell::new(self.app.follow()), Arc::clone(&activity));
        let service = service_fn(move |request: Request<Incoming>| {
            let (guard, version) = (request_activity.start_request(), request.version());
            let (head, body) = request.into_parts();
            let (body, drain) = DrainableBody::new(&head, body);
            let app = Arc::clone(app.borrow_mut().latest());
            let body = RequestBody::new(body, app.shared.limits.body_timeout);
            let reply = poll_once(respond(app, head, body));
            finish(reply, drain, guard, version).map(Ok::<_, Infallible>)
        });
        let connection = self.builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut shutdown = self.shutdown.clone();
        let mut is_closing = false;
        // At least as often as the shorter timeout can expire, so that no timeout is noticed late.
        let interval = self.timeouts.head.min(self.timeouts.idle).min(self.timeouts.write);
        let mut check = std::pin::pin!(tokio::time::sleep(interval));
        loop {
            tokio::select! {
                biased;
                result = connection.as_mut() => {
                    return result.unwrap_or_else(|error| tracing::debug!("connection failed: {error}"));
                }
                changed = shutdown.changed() => {
                    let phase = *shutdown.borrow_and_update();
                    // An error means that the server was dropped.
                    if changed.is_err() || phase == Shutdown::Aborted {
                        return;
                    }
                    activity.drain();
                    if phase == Shutdown::Closing && !is_closing {
                        is_closing = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
                () = check.as_mut() => {
                    let remaining_stall = activity.remaining_stall(&self.timeouts);
                    if remaining_stall == Some(Duration::ZERO) {
                        tracing::debug!("connection closed: the client does not accept a reply");
                        return;
                    }
                    let remaining = activity.remaining(&self.timeouts);
                    let next_check = if remaining != Some(Duration::ZERO) {
                        remaining.map_or(interval, |remaining| remaining.min(interval))
                    } else if is_closing || !activity.is_between_requests() {
                        tracing::debug!("connection closed: the client has sent nothing");
                        return;
                    } else {
                        is_closing = true;
                        connection.as_mut().graceful_shutdown();
                        CLOSE_TIMEOUT
                    };
                    let next_check = remaining_stall.map_or(next_check, |stall| next_check.min(stall));
                    check.as_mut().reset(Instant::now() + next_check);
                }
            }
        }
    }
}

thread_local! {
    /// The memory of the last request of this thread that has completed: an `Option<Pin<Box<F>>>`.
    static SPACE: RefCell<Box<dyn Any>> = RefCell::new(Box::new(()));
}

/// Polls a request once before the connection reads on. Most reads complete at that, and their heads are then dropped, so
/// that the connection reuses the buffer that held them. A request that has completed leaves its memory to the next one of
/// the thread, because idle connections should not hold any.
fn poll_once<F: Future + 'static>(request: F) -> Either<Ready<F::Output>, Pin<Box<F>>> {
    let used = SPACE.with_borrow_mut(|space| space.downcast_mut::<Option<Pin<Box<F>>>>()?.take());
    let mut request = match used {
        Some(mut used) => {
            used.set(request);
            used
        }
        None => Box::pin(request),
    };
    match request.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(reply) => {
            SPACE.with_borrow_mut(|space| match space.downcast_mut() {
                Some(space) => *space = Some(request),
                None => *space = Box::new(Some(request)),
            });
            Either::Left(ready(reply))
        }
        Poll::Pending => Either::Right(request),
    }
}

/// Waits for the reply of a request and for the rest of its body, and closes the connection if that is necessary.
async fn finish(
    reply: impl Future<Output = Response<Body>>,
    drain: Option<DrainBody>,
    guard: RequestGuard,
    version: Version,
) -> Response<ReplyBody> {
    let mut reply = reply.await;
    let is_reusable = match drain {
        Some(drain) => drain.finish().await,
        None => true,
    };
    if version < Version::HTTP_2 && (guard.is_last() || !is_reusable) {
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply.map(|body| ReplyBody::new(body, guard, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn request(waits: bool) -> &'static str {
        if waits {
            tokio::task::yield_now().await;
        }
        "reply"
    }

    /// Returns whether a request of this type can use the memory of an earlier one.
    fn has_space<F: 'static>(_: impl Fn(bool) -> F) -> bool {
        let has = |space: &Box<dyn Any>| space.downcast_ref().is_some_and(Option::<Pin<Box<F>>>::is_some);
        SPACE.with_borrow(has)
    }

    #[tokio::test]
    async fn a_request_that_waits_is_resumed_by_its_connection() {
        for waits in [false, true, false] {
            let polled = poll_once(request(waits));
            assert_eq!((matches!(polled, Either::Right(_)), !has_space(request)), (waits, waits));
            assert_eq!(polled.await, "reply");
        }
        // Another type of request.
        assert_eq!(poll_once(std::future::ready(1)).await, 1);
        assert!(!has_space(request));
    }
}
