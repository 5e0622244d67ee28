//! Serves one connection: the TLS handshake, HTTP/1.1 or HTTP/2 by hyper, timeouts, and the reaction to a shutdown.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
#[cfg(feature = "tls")]
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::activity::Activity;
use super::exchange::Exchange;
use super::reply_body::MAX_PIECE_BYTES;
use super::stream::ConnectionStream;
use super::timeouts::Timeouts;
#[cfg(feature = "tls")]
use super::tls::{Handshake, Tls};
use crate::app::reply_future::ReplyFuture;
use crate::clients::Peer;
#[cfg(feature = "tls")]
use crate::pipeline;
use crate::pipeline::body::RequestBody;
use crate::{App, Body, Current};

/// How long a connection may take to close gracefully after an idle timeout.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The parser accepts heads this many times larger than the application's limit, so that the application can refuse
/// them with an error reply.
const HEAD_SIZE_FACTOR: usize = 4;
/// Concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;
/// HTTP/2 streams that a client may open and reset before the server has accepted them.
const MAX_PENDING_RESETS: usize = 50;
/// HTTP/2 streams that may be reset for errors of the client before the connection is closed.
const MAX_ERROR_RESETS: usize = 200;

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
    pub(super) http: Arc<auto::Builder<TokioExecutor>>,
    pub(super) timeouts: Timeouts,
    pub(super) shutdown: watch::Receiver<Shutdown>,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
}

/// Returns HTTP/1.1 and HTTP/2 with their limits.
pub(super) fn http(app: &App, timeouts: &Timeouts) -> auto::Builder<TokioExecutor> {
    let head_size = app.shared.options.limits.header_bytes.saturating_mul(HEAD_SIZE_FACTOR).max(64 * 1024);
    let mut http = auto::Builder::new(TokioExecutor::new());
    // `Activity` applies the head timeout, also before the first byte and to both protocols. With `writev`, a piece is dropped
    // when it is sent, and not when it is copied into a buffer that keeps its size.
    http.http1().header_read_timeout(None).max_buf_size(head_size).half_close(false).writev(true);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .max_send_buf_size(2 * MAX_PIECE_BYTES)
        .max_header_list_size(u32::try_from(head_size).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(timeouts.ping))
        .keep_alive_timeout(timeouts.pong);
    http
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
                    |app: Arc<App>, head: Parts, _| ready(Ok(pipeline::refuse_plain(&app.shared, &head)));
                self.serve(stream, refuse).await;
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
        self.serve(stream, move |app, head, body| ReplyFuture::new(app, head, Some(peer), body)).await;
    }

    /// Answers each request on a connection with `respond`.
    async fn serve<S, F>(self, stream: S, respond: impl Fn(Arc<App>, Parts, RequestBody) -> F)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
    {
        let (activity, close) = (Activity::new(), Arc::<Notify>::default());
        let stream = ConnectionStream::new(stream, Arc::clone(&activity), self.timeouts.write);
        let app = RefCell::new(self.app.follow());
        let (requests, close_for_reply) = (Arc::clone(&activity), Arc::clone(&close));
        let service = service_fn(move |request: Request<Incoming>| {
            let (app, close) = (Arc::clone(app.borrow_mut().latest()), Arc::clone(&close_for_reply));
            let (exchange, head, body) =
                Exchange::begin(request, &requests, app.shared.options.limits.body_timeout);
            // The reference count of this clone belongs to the connection: threads do not share it.
            let reply = respond(Arc::clone(&app), head, body);
            async move {
                let Ok(reply) = reply.await;
                Ok::<_, Infallible>(
                    exchange.finish(reply, &app.shared.options.client_limits.unread, &close).await,
                )
            }
        });
        let mut connection =
            std::pin::pin!(self.http.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let mut shutdown = self.shutdown.clone();
        let mut is_closing = false;
        // At least as often as the shortest timeout can expire, so that none is noticed late.
        let interval = self.timeouts.head.min(self.timeouts.idle);
        let mut check = std::pin::pin!(tokio::time::sleep(interval));
        loop {
            tokio::select! {
                biased;
                result = connection.as_mut() => {
                    return result.unwrap_or_else(|error| tracing::debug!("connection failed: {error}"));
                }
                () = close.notified() => return tracing::debug!("connection closed: its client does not read"),
                changed = shutdown.changed() => {
                    let announced = *shutdown.borrow_and_update();
                    // An error means that the server was dropped.
                    if changed.is_err() || announced == Shutdown::Aborted {
                        return;
                    }
                    activity.drain();
                    if announced == Shutdown::Closing {
                        is_closing = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
                () = check.as_mut() => {
                    let next = match activity.remaining(&self.timeouts) {
                        Some(Duration::ZERO) if is_closing => {
                            return tracing::debug!("connection closed: the client has sent nothing");
                        }
                        Some(Duration::ZERO) => {
                            is_closing = true;
                            connection.as_mut().graceful_shutdown();
                            CLOSE_TIMEOUT
                        }
                        Some(remaining) => remaining.min(interval),
                        None => interval,
                    };
                    check.as_mut().reset(Instant::now() + next);
                }
            }
        }
    }
}
