//! Who is listening? Connections over a socket, each with its bounds, until the server is told to stop.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::serve_connection::{self, Host, Stage};
#[cfg(feature = "tls")]
use super::tls::Tls;
use super::workers::{Places, Workers};
use crate::{ClientAddress, Current, Metrics};

/// Pause after the system refused a connection, for want of descriptors for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long a stopping server still answers what comes over open connections, telling each that it is the last.
const LULL: Duration = Duration::from_millis(250);
/// How long a stopping server waits for the next connection that the system has accepted for it.
const LATECOMER: Duration = Duration::from_millis(2);

/// How long a server waits for a client, in whatever state their connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a handshake of TLS.
    pub handshake: Duration,
    /// For the rest of a request's head, once its first byte has come, and for the first one altogether.
    pub head: Duration,
    /// For the next request over a connection that is kept open.
    pub idle: Duration,
    /// For a client to take some of what is sent to it.
    pub write: Duration,
    /// How often a connection of HTTP/2 is asked whether its client is there.
    pub ping: Duration,
    /// For the answer to that.
    pub pong: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            write: Duration::from_secs(30),
            ping: Duration::from_secs(20),
            pong: Duration::from_secs(20),
        }
    }
}

/// An [`App`](crate::App) on a listener, speaking HTTP/1.1 and HTTP/2.
///
/// Without TLS a client speaks HTTP/2 by prior knowledge, with TLS as the two agree in their handshake.
#[derive(Clone, Debug)]
pub struct Server {
    app: Current,
    connections: usize,
    shutdown_timeout: Duration,
    timeouts: Timeouts,
    workers: Option<Workers>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl Server {
    /// A server of at most 10,000 connections that stops within 10 seconds. An [`crate::App`] is served as it is;
    /// a [`Current`] one may be replaced meanwhile.
    pub fn new(app: impl Into<Current>) -> Self {
        Self {
            app: app.into(),
            connections: 10_000,
            shutdown_timeout: Duration::from_secs(10),
            timeouts: Timeouts::default(),
            workers: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Sets how many connections may be open at a time; more wait to be accepted.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.clamp(1, u32::MAX as usize);
        self
    }

    /// Sets how long requests under way may take to finish when the server stops.
    #[must_use]
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// Sets how long clients are waited for.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Spreads connections over these threads and the task that serves. A runtime of one thread and a worker for
    /// each further processor take more requests than one runtime of as many threads ([`Workers`]).
    ///
    /// ```no_run
    /// use mesh_server::{App, Server, Workers};
    ///
    /// # fn serve(app: App) -> std::io::Result<()> {
    /// let workers = Workers::builder(std::thread::available_parallelism()?.get() - 1).start()?;
    /// tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    ///     let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
    ///     Server::new(app).workers(workers).serve(listener, std::future::pending()).await;
    ///     Ok(())
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn workers(mut self, workers: Workers) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Speaks TLS, and nothing else, under that certificate.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Serves until `shutdown` is done; then accepts nothing more, lets what is under way finish within the
    /// timeout, and returns.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let slots = Arc::new(Semaphore::new(self.connections));
        let (stages, stage) = watch::channel(Stage::Serving);
        let host = Host {
            builder: Arc::new(serve_connection::builder(&self.app.get(), &self.timeouts)),
            app: self.app.clone(),
            timeouts: self.timeouts,
            stage,
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
        };
        let metrics = self.app.get().counted().cloned();
        let places = Places::of(self.workers.as_ref());
        let receive = |(stream, peer, slot): (TcpStream, ClientAddress, OwnedSemaphorePermit)| {
            let (host, open) = (host.clone(), metrics.as_ref().map(Metrics::connected));
            let (runtime, place) = places.next(&stream);
            let held = (slot, open, place);
            let Some(runtime) = runtime else {
                let serving = host.receive(stream, peer);
                tokio::spawn(async move {
                    serving.await;
                    drop(held);
                });
                return;
            };
            // A stream is known to one runtime, and has to be made known to another there.
            match stream.into_std() {
                Ok(stream) => drop(runtime.spawn(async move {
                    match TcpStream::from_std(stream) {
                        Ok(stream) => host.receive(stream, peer).await,
                        Err(error) => tracing::warn!("cannot serve a connection: {error}"),
                    }
                    drop(held);
                })),
                Err(error) => tracing::warn!("cannot serve a connection: {error}"),
            }
        };
        {
            let mut upkeep = std::pin::pin!(self.upkeep());
            let mut shutdown = std::pin::pin!(shutdown);
            loop {
                tokio::select! {
                    biased;
                    () = &mut shutdown => break,
                    () = &mut upkeep => {}
                    accepted = accept(&listener, &slots) => {
                        if let Some(accepted) = accepted {
                            receive(accepted);
                        }
                    }
                }
            }
        }
        stages.send_replace(Stage::Leaving);
        // The system has accepted these already: to their clients it is the server that did.
        while let Ok(Some(accepted)) = tokio::time::timeout(LATECOMER, accept(&listener, &slots)).await {
            receive(accepted);
        }
        drop(listener);
        self.app.get().end_streams();
        let ended = tokio::time::timeout(self.shutdown_timeout, self.all_end(&slots, &stages)).await;
        if ended.is_err() {
            tracing::warn!("stopping with requests still under way after {:?}", self.shutdown_timeout);
            stages.send_replace(Stage::Gone);
        }
        // They may have something to finish, which this thread should not be held up by.
        if let Some(workers) = self.workers {
            let _ = tokio::task::spawn_blocking(move || drop(workers)).await;
        }
    }

    /// Done when no connection is left.
    async fn all_end(&self, slots: &Semaphore, stages: &watch::Sender<Stage>) {
        let all = u32::try_from(self.connections).unwrap_or(u32::MAX);
        // A client that is about to send its next request hears from a reply that it was the last, rather than
        // to find the connection closed.
        if tokio::time::timeout(LULL, slots.acquire_many(all)).await.is_err() {
            stages.send_replace(Stage::Closing);
            let _ = slots.acquire_many(all).await;
        }
    }

    /// Whatever has to be done beside serving; never ends.
    #[cfg(feature = "tls")]
    async fn upkeep(&self) {
        if let Some(tls) = self.tls.clone() {
            tls.keep_up().await;
        }
        std::future::pending().await
    }

    /// Whatever has to be done beside serving; never ends.
    #[cfg(not(feature = "tls"))]
    async fn upkeep(&self) {
        std::future::pending().await
    }
}

/// The next connection and its slot, or `None` after a failure of the system.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, ClientAddress, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Replies are written whole; waiting to fill packets would only delay them.
            let _ = stream.set_nodelay(true);
            Some((stream, ClientAddress(peer.ip()), slot))
        }
        Err(error) => {
            tracing::warn!("cannot accept a connection: {error}");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}
