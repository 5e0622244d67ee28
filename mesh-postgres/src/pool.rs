//! A bounded pool of connections with their prepared statements.

pub(crate) mod connect_url;
pub(crate) mod replicas;
mod tls;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::{LocalGenerations, Usage, WaitCounter};
use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, CancelToken, Client, Error, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::pool::connect_url::ConnectUrl;
use crate::settings::Settings;
use crate::sql::{self, TextParam};

/// The maximum number of prepared statements of a connection.
const STATEMENTS: usize = 512;
/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for cancelling a statement, after which its connection is dropped.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// The purpose of the connections of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Transactions are read-only.
    Read,
    /// Transactions can write.
    Write,
}

/// Connections to one server. A slot is held while a connection is in use, and until a connection whose statement is
/// cancelled is closed.
pub(crate) struct Pool {
    target: ConnectUrl,
    tls: Mutex<Option<MakeRustlsConnect>>,
    settings: Settings,
    begin: String,
    slots: Arc<Semaphore>,
    waits: WaitCounter,
    idle: Idle,
}

/// Idle connections, the last used one at the end. They are boxed because they are moved often.
type Idle = Arc<Mutex<Vec<Box<Link>>>>;

/// Why no connection is available.
#[derive(Debug)]
pub(crate) enum PoolError {
    /// All connections stayed in use for as long as a request waits.
    Exhausted,
    /// The server did not respond in time.
    TimedOut,
    /// The connection failed.
    Refused(Error),
    /// The trusted certificates cannot be read.
    Certificates(std::io::Error),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted => f.write_str("all connections to the database are in use"),
            Self::TimedOut => f.write_str("the database does not respond"),
            Self::Refused(_) => f.write_str("cannot connect to the database"),
            Self::Certificates(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Exhausted | Self::TimedOut | Self::Certificates(_) => None,
        }
    }
}

impl Pool {
    pub(crate) fn new(target: ConnectUrl, settings: &Settings, purpose: Purpose) -> Self {
        let mut target = target;
        if !settings.pooler {
            target.add_options(&session_options(settings, purpose));
        }
        Self {
            begin: begin(&target, settings, purpose),
            target,
            tls: Mutex::new(None),
            slots: Arc::new(Semaphore::new(settings.connections)),
            waits: WaitCounter::default(),
            idle: Arc::default(),
            settings: settings.clone(),
        }
    }

    /// Returns the URL of the database without a password.
    pub(crate) fn name(&self) -> &str {
        &self.target.name
    }

    /// Whether a pooler may assign another connection to each transaction. Then no state is kept on a connection.
    pub(crate) fn has_pooler(&self) -> bool {
        self.settings.pooler
    }

    /// Returns the statements that begin a transaction with the settings of a session.
    pub(crate) fn begin(&self) -> &str {
        &self.begin
    }

    /// Returns the number of idle connections and the maximum number of connections.
    pub(crate) fn idle(&self) -> (usize, usize) {
        (self.idle.lock().len(), self.settings.connections)
    }

    /// Returns usage figures.
    pub(crate) fn usage(&self) -> Usage {
        let (idle, slots) = self.idle();
        let (waits, waited) = (self.waits.count(), self.waits.total());
        Usage { idle, slots, free: self.slots.available_permits(), waits, waited, ..Usage::default() }
    }

    /// Returns the number of free slots.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.slots.available_permits()
    }

    /// Returns an idle connection or opens one, and waits for a free slot for as long as the settings allow. `fresh`
    /// closes the idle connections and opens a new one, for callers that found a broken one: others may be broken too.
    pub(crate) async fn take(&self, fresh: bool) -> Result<Lease, PoolError> {
        let slot = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => slot,
            Err(_) => {
                let waiting = Arc::clone(&self.slots).acquire_owned();
                let start = Instant::now();
                let slot = tokio::time::timeout(self.settings.wait, waiting).await;
                self.waits.record(start.elapsed());
                slot.ok().and_then(Result::ok).ok_or(PoolError::Exhausted)?
            }
        };
        let idle = loop {
            match take_idle(&self.idle) {
                Some(link) if fresh || link.client.is_closed() => drop(link),
                other => break other,
            }
        };
        let link = match idle {
            Some(link) => link,
            None => Box::new(self.connect().await?),
        };
        Ok(Lease { link: Some(link), idle: Arc::clone(&self.idle), slot: Some(slot), busy: false })
    }

    /// Opens a connection outside of the pool.
    pub(crate) async fn connect(&self) -> Result<Link, PoolError> {
        self.connect_with(|_| {}).await
    }

    /// Opens a connection outside of the pool that passes notices and notifications to `on_message`.
    pub(crate) async fn connect_with(
        &self,
        mut on_message: impl FnMut(AsyncMessage) + Send + 'static,
    ) -> Result<Link, PoolError> {
        let tls = self.tls()?;
        let connecting = self.target.config.connect(tls.clone());
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        let (client, mut connection) =
            connected.map_err(|_| PoolError::TimedOut)?.map_err(PoolError::Refused)?;
        tokio::spawn(async move {
            while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
                match message {
                    Ok(message) => on_message(message),
                    Err(error) => {
                        tracing::debug!("a connection to the database ended: {error}");
                        break;
                    }
                }
            }
        });
        let (cancel, runtime) = (client.cancel_token(), Handle::current().id());
        let statements = LocalGenerations::new(STATEMENTS);
        Ok(Link { cancel, client, statements, tls, has_pooler: self.has_pooler(), runtime })
    }

    fn tls(&self) -> Result<MakeRustlsConnect, PoolError> {
        let mut connector = self.tls.lock();
        if let Some(connector) = &*connector {
            return Ok(connector.clone());
        }
        let created = tls::connector(&self.target.trust).map_err(PoolError::Certificates)?;
        Ok(connector.insert(created).clone())
    }
}

/// Takes the idle connection that was used last, preferably one of the current runtime: messages of a connection of
/// another runtime wake two threads.
fn take_idle(idle: &Idle) -> Option<Box<Link>> {
    let mut idle = idle.lock();
    let runtime = Handle::current().id();
    let last = idle.len().checked_sub(1)?;
    let index = idle.iter().rposition(|link| link.runtime == runtime).unwrap_or(last);
    Some(idle.remove(index))
}

/// Returns the settings of a session. Compilation of expressions is off because it takes longer than most reads, and the
/// limit on rows makes the planner overestimate its use.
fn session_options(settings: &Settings, purpose: Purpose) -> String {
    let timeout = settings.statement_timeout.as_millis();
    let read_only = if purpose == Purpose::Read { " -c default_transaction_read_only=on" } else { "" };
    format!("-c statement_timeout={timeout} -c jit=off{read_only}")
}

/// Returns the statements that begin a transaction with the same settings as a session.
fn begin(target: &ConnectUrl, settings: &Settings, purpose: Purpose) -> String {
    let mut sql = String::from("BEGIN");
    if purpose == Purpose::Read {
        sql.push_str(" READ ONLY");
    }
    sql.push_str("; SET LOCAL jit = off; SET LOCAL statement_timeout = ");
    sql.push_str(&settings.statement_timeout.as_millis().to_string());
    if let Some(schemas) = target.search_path() {
        sql.push_str("; SET LOCAL search_path = ");
        sql.push_str(&schemas);
    }
    sql
}

/// An open connection.
pub(crate) struct Link {
    client: Client,
    cancel: CancelToken,
    statements: LocalGenerations<Box<str>, Statement>,
    tls: MakeRustlsConnect,
    has_pooler: bool,
    /// The runtime that reads and writes the connection's messages.
    runtime: Id,
}

impl Link {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Runs a statement, prepared unless there is a pooler.
    pub(crate) async fn query(&mut self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, Error> {
        if self.has_pooler {
            return sql::query(&self.client, sql, params).await;
        }
        let statement = self.prepare(sql).await?;
        let params: Vec<_> = params.iter().map(|param| param as &(dyn ToSql + Sync)).collect();
        self.client.query(&statement, &params).await
    }

    /// Returns a prepared statement, from the cache if possible.
    pub(crate) async fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get_mut(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql.into(), statement.clone(), 1);
        Ok(statement)
    }
}

/// The right to use a connection. If a lease is dropped while a statement is running, as when the future of a read is
/// dropped because its client has disconnected, the statement is cancelled and the connection closed.
pub(crate) struct Lease {
    /// Present until the lease is dropped.
    link: Option<Box<Link>>,
    idle: Idle,
    slot: Option<OwnedSemaphorePermit>,
    busy: bool,
}

impl Lease {
    /// Returns the connection, which does not go back to the pool unless [`Self::done`] is called.
    #[expect(clippy::expect_used, reason = "the connection is present until the lease is dropped")]
    pub(crate) fn begin(&mut self) -> &mut Link {
        self.busy = true;
        self.link.as_mut().expect("a lease has a connection")
    }

    /// Marks the connection as free of running statements and open transactions.
    pub(crate) fn done(&mut self) {
        self.busy = false;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        if !self.busy {
            if !link.client.is_closed() {
                self.idle.lock().push(link);
            }
            return;
        }
        let slot = self.slot.take();
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let Link { client, cancel, tls, .. } = *link;
            // The statement may have ended in the meantime. The connection is not used again, because the cancellation
            // could then hit its next statement.
            let _ = tokio::time::timeout(CANCEL_TIMEOUT, cancel.cancel_query(tls)).await;
            drop(client);
            drop(slot);
        });
    }
}
