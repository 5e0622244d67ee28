//! What becomes of one connection? It is served until the client ends it, waits too long, or the server stops.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

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

use super::drain_body::{self, Taken};
use super::idle_timeout::{Activity, Attended, Noted};
use super::lingering_close::Lingering;
use super::server::Timeouts;
#[cfg(feature = "tls")]
use super::tls::{Greeted, Tls};
use crate::app::Begun;
use crate::{App, Body, ClientAddress, Current};

/// How far the parser's bound on a head lies above the application's, so that the application answers.
const HEAD_SLACK: usize = 4;
/// Requests under way on one HTTP/2 connection.
const STREAMS: u32 = 100;
/// Streams of HTTP/2 that a client may have opened and reset before they were even looked at.
const UNSEEN_RESETS: usize = 50;
/// Streams of HTTP/2 that may be reset for faults of the client before the connection is given up.
const FAULTY_STREAMS: usize = 200;
/// How long a connection may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// How far a server is with stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Serving,
    /// Each reply is the last one of its connection.
    Leaving,
    /// Connections end once they have nothing under way.
    Closing,
    /// There is no time left.
    Gone,
}

/// What a connection is told of beside its requests.
enum News {
    /// The server is at another stage, if that is still known.
    Stage(bool),
    /// It is time to see whether the client does anything.
    Time,
}

/// What all connections of a server have in common.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) app: Current,
    pub(super) builder: Arc<auto::Builder<TokioExecutor>>,
    pub(super) timeouts: Timeouts,
    pub(super) stage: watch::Receiver<Stage>,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
}

/// The two protocols, with their bounds.
pub(super) fn builder(app: &App, timeouts: &Timeouts) -> auto::Builder<TokioExecutor> {
    let head = app.transport_limits().header_bytes.saturating_mul(HEAD_SLACK).max(64 * 1024);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // The time for heads is kept by `Activity`, which knows of connections that never send one as well.
    builder.http1().header_read_timeout(None).max_buf_size(head).half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_pending_accept_reset_streams(UNSEEN_RESETS)
        .max_local_error_reset_streams(FAULTY_STREAMS)
        .max_header_list_size(u32::try_from(head).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(timeouts.ping))
        .keep_alive_timeout(timeouts.pong);
    builder
}

impl Host {
    /// Serves a connection to its end.
    #[cfg(feature = "tls")]
    pub(super) async fn receive(mut self, stream: TcpStream, peer: ClientAddress) {
        let Some(tls) = self.tls.take() else {
            return self.converse(stream, peer, App::begin_peer).await;
        };
        let mut stage = self.stage.clone();
        let greeted = tokio::select! {
            greeted = tokio::time::timeout(self.timeouts.handshake, tls.greet(stream)) => greeted,
            // Nothing was asked yet, so nothing is lost.
            _ = stage.wait_for(|stage| *stage >= Stage::Closing) => return,
        };
        match greeted {
            Ok(Ok(Greeted::Private(stream))) => self.converse(*stream, peer, App::begin_peer).await,
            Ok(Ok(Greeted::Plain(stream))) => self.converse(stream, peer, App::refuse_plain).await,
            Ok(Err(error)) => tracing::debug!("handshake: {error}"),
            Err(_) => tracing::debug!("handshake: not done within {:?}", self.timeouts.handshake),
        }
    }

    /// Serves a connection to its end.
    #[cfg(not(feature = "tls"))]
    pub(super) async fn receive(self, stream: TcpStream, peer: ClientAddress) {
        self.converse(stream, peer, App::begin_peer).await;
    }

    /// Answers each request by `answer`.
    async fn converse<S>(
        self,
        stream: S,
        peer: ClientAddress,
        answer: fn(&App, ClientAddress, Parts, Taken) -> Begun,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(Activity::new());
        let stream = Attended::new(Lingering::new(stream), Arc::clone(&activity), self.timeouts.write);
        let (app, doing) = (RefCell::new(self.app.follow()), Arc::clone(&activity));
        let service = service_fn(move |request: Request<Incoming>| {
            let (under_way, version) = (doing.begin(), request.version());
            let finish = move |mut reply: Response<Body>, goes_on: bool| {
                if version < Version::HTTP_2 && (under_way.is_last() || !goes_on) {
                    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(reply.map(|body| Noted { body, _under_way: under_way }))
            };
            // What is answered at once lets go of the request before the connection reads on.
            let (head, body) = request.into_parts();
            let (body, unread) = Taken::of(&head, body);
            let begun = answer(app.borrow_mut().latest(), peer, head, body);
            drain_body::then(begun, unread, finish)
        });
        let connection = self.builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut stage = self.stage.clone();
        let mut leaving = false;
        // Looked at again at least as often as the shortest time may pass, so no end is noticed late.
        let interval = self.timeouts.head.min(self.timeouts.idle);
        let mut look = std::pin::pin!(tokio::time::sleep(interval));
        loop {
            let news = tokio::select! {
                biased;
                done = connection.as_mut() => {
                    return done.unwrap_or_else(|error| tracing::debug!("connection: {error}"));
                }
                changed = stage.changed() => News::Stage(changed.is_ok()),
                () = look.as_mut() => News::Time,
            };
            match news {
                News::Stage(known) => {
                    let now = *stage.borrow_and_update();
                    if !known || now == Stage::Gone {
                        return;
                    }
                    activity.leave();
                    if now == Stage::Closing && !leaving {
                        leaving = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
                News::Time => {
                    let left = activity.left(&self.timeouts);
                    let next = if left != Some(Duration::ZERO) {
                        left.map_or(interval, |left| left.min(interval))
                    } else if leaving || !activity.is_at_rest() {
                        tracing::debug!("connection: given up, since nothing came");
                        return;
                    } else {
                        leaving = true;
                        connection.as_mut().graceful_shutdown();
                        GOODBYE
                    };
                    look.as_mut().reset(Instant::now() + next);
                }
            }
        }
    }
}
