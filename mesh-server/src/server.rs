//! Who is listening? Connections over a socket, each with its bounds, until the server is told to stop.

mod linger;

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::linger::Lingering;
use crate::{Current, Peer};

/// How long a connection may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How far the parser's bound on a head lies above the application's, so that the application answers.
const HEAD_SLACK: usize = 4;
/// Requests under way on one HTTP/2 connection.
const STREAMS: u32 = 100;
/// Pause after the system refused a connection, for want of descriptors for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// An [`App`] on a listener, speaking HTTP/1.1 and HTTP/2 (with prior knowledge) without TLS.
#[derive(Clone, Debug)]
pub struct Server {
    app: Current,
    connections: usize,
    shutdown_timeout: Duration,
}

impl Server {
    /// A server of at most 10,000 connections that stops within 10 seconds. An [`crate::App`] is served as it is;
    /// a [`Current`] one may be replaced meanwhile.
    pub fn new(app: impl Into<Current>) -> Self {
        Self { app: app.into(), connections: 10_000, shutdown_timeout: Duration::from_secs(10) }
    }

    /// Sets how many connections may be open at a time; more wait to be accepted.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how long requests under way may take to finish when the server stops.
    #[must_use]
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// Serves until `shutdown` is done; then accepts nothing more, lets what is under way finish within the
    /// timeout, and returns.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let slots = Arc::new(Semaphore::new(self.connections));
        let builder = Arc::new(self.builder());
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut shutdown => break,
                accepted = accept(&listener, &slots) => accepted,
            };
            let Some((stream, peer, slot)) = accepted else { continue };
            let watcher = graceful.watcher();
            let (builder, app) = (Arc::clone(&builder), RefCell::new(self.app.follow()));
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let app = app.borrow_mut().latest().clone();
                    async move { Ok::<_, Infallible>(app.handle_from(Some(peer), request).await) }
                });
                let connection = builder.serve_connection(TokioIo::new(Lingering::new(stream)), service);
                if let Err(error) = watcher.watch(connection).await {
                    tracing::debug!("connection: {error}");
                }
                drop(slot);
            });
        }
        drop(listener);
        self.app.get().end_streams();
        if tokio::time::timeout(self.shutdown_timeout, graceful.shutdown()).await.is_err() {
            tracing::warn!("stopping with requests still under way after {:?}", self.shutdown_timeout);
        }
    }

    fn builder(&self) -> auto::Builder<TokioExecutor> {
        let head = self.app.get().transport_limits().header_bytes.saturating_mul(HEAD_SLACK).max(64 * 1024);
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(head)
            .half_close(false);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(head).unwrap_or(u32::MAX))
            .keep_alive_interval(Some(Duration::from_secs(20)));
        builder
    }
}

/// The next connection and its slot, or `None` after a failure of the system.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Replies are written whole; waiting to fill packets would only delay them.
            let _ = stream.set_nodelay(true);
            Some((stream, Peer(peer.ip()), slot))
        }
        Err(error) => {
            tracing::warn!("cannot accept a connection: {error}");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}
