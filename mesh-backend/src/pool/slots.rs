//! A bounded number of connections that are in use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::backend::{Usage, WaitCounter};
use tokio::sync::Semaphore;

use super::connection::Connection;
use super::error::PoolError;
use super::idle::IdleConnections;
use super::lease::Lease;

/// The interval between attempts to connect to a server that accepts no more connections.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);

/// The servers that the connections of a pool are opened to.
pub trait Servers: Sync {
    /// A connection.
    type Connection: Connection;

    /// Opens a connection.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, PoolError<Self::Connection>>> + Send;

    /// Returns whether an error may be temporary, so that a request waits.
    fn is_temporary(&self, error: &PoolError<Self::Connection>) -> bool;
}

/// The slots of a pool, each for a connection that is in use, and its idle connections.
#[derive(Debug)]
pub struct Slots<C> {
    slots: Arc<Semaphore>,
    idle: Arc<IdleConnections<C>>,
    waits: WaitCounter,
    /// The time that a request waits for a connection.
    wait: Duration,
}

impl<C: Connection> Slots<C> {
    /// Creates a number of free slots.
    pub fn new(count: usize, idle_timeout: Duration, wait: Duration) -> Self {
        let (slots, idle) = (Arc::new(Semaphore::new(count)), IdleConnections::new(idle_timeout));
        Self { slots, idle, waits: WaitCounter::default(), wait }
    }

    /// Returns usage figures. `count` is the number of connections that the pool may have.
    pub fn usage(&self, count: usize) -> Usage {
        Usage {
            idle: self.idle.count(),
            slots: count,
            free: self.slots.available_permits(),
            waits: self.waits.count(),
            waited: self.waits.total(),
            ..Usage::default()
        }
    }

    /// Returns an idle connection or opens one, and waits for a free slot for as long as the settings allow. `fresh` closes the
    /// idle connections and opens a new one, for callers that found a broken one: others may be broken too.
    ///
    /// # Errors
    /// No slot is free, or no connection can be opened.
    pub async fn take(
        &self,
        servers: &impl Servers<Connection = C>,
        fresh: bool,
    ) -> Result<Lease<C>, PoolError<C>> {
        let slot = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => slot,
            Err(_) => {
                let waiting = Arc::clone(&self.slots).acquire_owned();
                let start = Instant::now();
                let slot = tokio::time::timeout(self.wait, waiting).await;
                self.waits.record(start.elapsed());
                slot.ok().and_then(Result::ok).ok_or(PoolError::Exhausted)?
            }
        };
        let connection = match self.take_idle(fresh) {
            Some(connection) => connection,
            // Boxed, so that statements which need no new connection do not carry the state of opening one.
            None => Box::pin(self.connect_or_wait(servers)).await?,
        };
        Ok(Lease::new(connection, &self.idle, Some(slot)))
    }

    /// Runs an idempotent statement, and repeats it on a new connection if the first one is broken.
    ///
    /// # Errors
    /// No connection can be used, or the statement failed.
    pub async fn run<T, F: Future<Output = Result<T, PoolError<C>>>>(
        &self,
        servers: &impl Servers<Connection = C>,
        run: impl Fn(Lease<C>) -> F,
    ) -> Result<T, PoolError<C>> {
        match run(self.take(servers, false).await?).await {
            Err(error) if error.may_be_repeated() => {
                tracing::debug!("running a statement again on a new connection: {error}");
                run(self.take(servers, true).await?).await
            }
            result => result,
        }
    }

    /// Opens a connection that needs no slot, for work whose duration depends on a client.
    ///
    /// # Errors
    /// No connection can be opened.
    pub async fn take_extra(&self, servers: &impl Servers<Connection = C>) -> Result<Lease<C>, PoolError<C>> {
        Ok(Lease::new(servers.connect().await?, &self.idle, None))
    }

    /// Returns an idle connection. `fresh` closes all that are idle.
    fn take_idle(&self, fresh: bool) -> Option<C> {
        std::iter::from_fn(|| self.idle.take()).find(|_| !fresh)
    }

    /// Opens a connection. After a temporary error, tries again until it succeeds or until a connection of the pool is idle, for as
    /// long as the settings allow.
    async fn connect_or_wait(&self, servers: &impl Servers<Connection = C>) -> Result<C, PoolError<C>> {
        let start = Instant::now();
        loop {
            match servers.connect().await {
                Err(error) if servers.is_temporary(&error) && start.elapsed() < self.wait => {}
                connection => return connection,
            }
            tokio::time::sleep(ROOM_INTERVAL).await;
            if let Some(connection) = self.take_idle(false) {
                self.waits.record(start.elapsed());
                return Ok(connection);
            }
        }
    }
}
