//! The listener: accepts connections, assigns them to threads, and shuts down gracefully.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::unconstrained;

use super::serve_connection::{ConnectionHandler, Shutdown, http};
use super::timeouts::Timeouts;
#[cfg(feature = "tls")]
use super::tls::Tls;
use super::workers::{Scheduler, Workers};
use crate::clients::{CountGuard, Peer};
use crate::{ClientAddress, Current, Metrics};

/// Pause after a failure to accept a connection, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long open connections may send further requests during a shutdown. Each reply announces that it is the last.
const DRAIN_TIME: Duration = Duration::from_millis(250);
/// The most connections that a shutdown takes out of the listener's backlog: as many as Linux keeps there by default.
const MAX_BACKLOG: usize = 4_096;
/// How often slow readers are looked for.
const SLOW_READER_INTERVAL: Duration = Duration::from_millis(250);

/// Serves an [`App`](crate::App) on a listener over HTTP/1.1 and HTTP/2.
///
/// With TLS the protocol is negotiated by ALPN; without, clients use HTTP/2 by prior knowledge.
///
/// ```no_run
/// use mesh_server::{App, Server, Workers};
///
/// # fn serve(app: App) -> std::io::Result<()> {
/// let workers = Workers::start(std::thread::available_parallelism()?.get() - 1, || {})?;
/// tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
///     let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
///     let server = Server { workers: Some(workers), ..Server::new(app) };
///     server.serve(listener, std::future::pending()).await
/// })
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    /// The application.
    pub app: Current,
    /// The maximum number of open connections, at least 1. Further connections wait in the listener's backlog.
    pub max_connections: usize,
    /// How long active requests may take to finish during a shutdown.
    pub shutdown_timeout: Duration,
    /// How long the server waits for clients.
    pub timeouts: Timeouts,
    /// Threads over which connections are distributed, and over the task that calls [`serve`](Self::serve). A current-thread
    /// runtime with one worker for each further CPU serves more requests than one runtime with as many threads.
    pub workers: Option<Workers>,
    /// Requires TLS on all connections.
    #[cfg(feature = "tls")]
    pub tls: Option<Tls>,
}

impl Server {
    /// Creates a server with at most 10,000 connections and a shutdown timeout of 10 seconds. Pass a [`Current`] to
    /// replace the application while it is served.
    pub fn new(app: impl Into<Current>) -> Self {
        Self {
            app: app.into(),
            max_connections: 10_000,
            shutdown_timeout: Duration::from_secs(10),
            timeouts: Timeouts::default(),
            workers: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Serves until `shutdown` completes, then stops accepting connections, waits for active requests at most for the
    /// shutdown timeout, and returns.
    ///
    /// # Errors
    /// The listener is not listening any more, or a worker thread has panicked. A connection that cannot be accepted, for
    /// example for lack of file descriptors, is logged and is no error.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        self.max_connections = self.max_connections.clamp(1, u32::MAX as usize);
        let app = self.app.get();
        let permits = Arc::new(Semaphore::new(self.max_connections));
        let (shutdown_sender, shutdown_state) = watch::channel(Shutdown::Running);
        let acceptor = Acceptor {
            permits: Arc::clone(&permits),
            max_connections: self.max_connections,
            listener,
            handler: ConnectionHandler {
                http: Arc::new(http(&app, &self.timeouts)),
                app: self.app.clone(),
                timeouts: self.timeouts,
                shutdown: shutdown_state,
                #[cfg(feature = "tls")]
                tls: self.tls.clone(),
            },
            metrics: app.shared.metrics.clone(),
            scheduler: Scheduler::new(self.workers.as_ref()),
        };
        let serving = async {
            tokio::select! {
                biased;
                () = shutdown => {}
                () = self.reload_certificate() => {}
                failed = acceptor.accept_all() => return failed,
            }
            shutdown_sender.send_replace(Shutdown::Draining);
            acceptor.accept_backlog().await;
            self.app.get().end_streams();
            let closed = self.close_connections(&permits, &shutdown_sender);
            if tokio::time::timeout(self.shutdown_timeout, closed).await.is_err() {
                tracing::warn!("requests still active after {:?} are aborted", self.shutdown_timeout);
                shutdown_sender.send_replace(Shutdown::Aborted);
                self.app.get().shared.options.client_limits.effects.stop();
            }
            self.app.get().effects_ended().await;
            Ok(())
        };
        let result = tokio::select! {
            result = serving => result,
            never = self.close_slow_readers() => match never {},
        };
        // Dropping the workers waits for their blocking tasks.
        if let Some(workers) = self.workers {
            tokio::task::spawn_blocking(move || drop(workers)).await?;
        }
        self.app.get().shared.options.client_limits.effects.resume();
        result
    }

    async fn close_slow_readers(&self) -> Infallible {
        loop {
            tokio::time::sleep(SLOW_READER_INTERVAL).await;
            let limits = &self.app.get().shared.options.client_limits;
            limits.unread.close_slow_readers(self.timeouts.write, limits.unread_bytes);
        }
    }

    /// Completes when all connections are closed.
    async fn close_connections(&self, permits: &Semaphore, shutdown: &watch::Sender<Shutdown>) {
        let all = u32::try_from(self.max_connections).unwrap_or(u32::MAX);
        // A client that sends a request during this time reads `Connection: close` in the reply. Without it the
        // request could meet a closed connection.
        if tokio::time::timeout(DRAIN_TIME, permits.acquire_many(all)).await.is_err() {
            shutdown.send_replace(Shutdown::Closing);
            let _ = permits.acquire_many(all).await;
        }
    }

    /// Reloads the certificate when its files change; never completes.
    async fn reload_certificate(&self) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            tls.reload_on_change().await;
        }
        std::future::pending().await
    }
}

/// The error of an address that has reached its limit of connections.
struct TooManyConnections;

/// Accepts connections and starts a task for each.
struct Acceptor {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    max_connections: usize,
    handler: ConnectionHandler,
    metrics: Option<Metrics>,
    scheduler: Scheduler,
}

impl Acceptor {
    /// Accepts connections; completes only when the listener fails.
    async fn accept_all(&self) -> io::Result<()> {
        loop {
            self.accept().await?;
        }
    }

    /// Accepts the next connection as soon as the limit permits.
    async fn accept(&self) -> io::Result<()> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(io::Error::other)?;
        match self.listener.accept().await {
            Ok((stream, address)) => self.serve(stream, address.ip(), permit),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        Ok(())
    }

    /// Serves the connections that the kernel has completed, since their clients expect it, and closes the listener. Clients
    /// that go on connecting do not delay a shutdown, because it does not wait for them.
    async fn accept_backlog(self) {
        // The runtime asks the kernel for them first.
        tokio::task::yield_now().await;
        for _ in 0..MAX_BACKLOG {
            if !matches!(unconstrained(self.accept()).now_or_never(), Some(Ok(()))) {
                return;
            }
        }
    }

    /// Serves a connection in a task, unless its address has too many.
    fn serve(&self, stream: TcpStream, address: IpAddr, permit: OwnedSemaphorePermit) {
        let Ok(share) = self.count_connection(address) else { return };
        // Replies are written at once; Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        if let Err(error) = self.spawn(stream, ClientAddress(address), (permit, share)) {
            tracing::warn!("cannot serve a connection: {error}");
        }
    }

    /// Counts a connection for its address. A trusted proxy is not counted.
    ///
    /// # Errors
    /// The address has reached its limit of connections.
    fn count_connection(&self, peer: IpAddr) -> Result<Option<CountGuard<IpAddr>>, TooManyConnections> {
        let shared = self.handler.app.get().shared;
        if shared.options.trusted_proxies.contains(peer) {
            return Ok(None);
        }
        let others = self.max_connections.saturating_sub(self.permits.available_permits() + 1);
        let guard = shared.options.client_limits.acquire_connection(peer, others, self.max_connections);
        if guard.is_none() {
            tracing::debug!("connection closed: {peer} has too many");
            self.metrics.as_ref().inspect(|metrics| metrics.connection_refused());
        }
        guard.map(Some).ok_or(TooManyConnections)
    }

    /// Serves a connection in a task on the thread that the scheduler chooses.
    fn spawn(
        &self,
        stream: TcpStream,
        address: ClientAddress,
        counted: (OwnedSemaphorePermit, Option<CountGuard<IpAddr>>),
    ) -> io::Result<()> {
        let handler = self.handler.clone();
        let metrics = self.metrics.as_ref().map(Metrics::connection_opened);
        let (runtime, count) = self.scheduler.assign();
        let guards = (counted, metrics, count);
        let peer = Peer { address, is_connected: true };
        let Some(runtime) = runtime else {
            tokio::spawn(async move {
                handler.accept(stream, peer).await;
                drop(guards);
            });
            return Ok(());
        };
        // A socket is registered with one runtime, so it is taken out of this one.
        let stream = stream.into_std()?;
        runtime.spawn(async move {
            match TcpStream::from_std(stream) {
                Ok(stream) => handler.accept(stream, peer).await,
                Err(error) => tracing::warn!("cannot serve a connection: {error}"),
            }
            drop(guards);
        });
        Ok(())
    }
}
