//! A bounded pool of connections with their prepared statements.

pub(crate) mod connect_url;
mod tls;

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use tokio::runtime::{Handle, Id};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::{AsyncMessage, CancelToken, Client, Statement};

use crate::pool::connect_url::ConnectUrl;
use crate::pool::tls::Tls;
use crate::settings::Settings;
use mesh_plan::{Usage, WaitCounter};

/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 512;
/// How long it may take to open a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a cancelled statement has to end before its connection is given up.
const CANCEL: Duration = Duration::from_secs(5);

/// What the connections of a pool are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// They cannot write.
    Read,
    /// They can.
    Write,
}

/// Connections to one server. A slot is held for as long as a connection is used, and until one that was given
/// up is closed.
pub(crate) struct Pool {
    target: ConnectUrl,
    tls: Mutex<Option<Tls>>,
    settings: Settings,
    purpose: Purpose,
    slots: Arc<Semaphore>,
    waits: WaitCounter,
    idle: Idle,
}

/// Connections that are not in use, each in a box, since they are handed to and fro.
type Idle = Arc<Mutex<Vec<Box<Link>>>>;

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum PoolError {
    /// All are in use and stayed so.
    Exhausted,
    /// The server does not answer.
    Slow,
    /// It answers, but not well.
    Refused(tokio_postgres::Error),
    /// Its certificates are not there.
    Certificates(std::io::Error),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted => f.write_str("all connections to the database are in use"),
            Self::Slow => f.write_str("the database does not answer"),
            Self::Refused(_) => f.write_str("no connection to the database"),
            Self::Certificates(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Exhausted | Self::Slow | Self::Certificates(_) => None,
        }
    }
}

impl Pool {
    pub(crate) fn new(target: ConnectUrl, settings: &Settings, purpose: Purpose) -> Self {
        let mut target = target;
        if !settings.pooler {
            target.with_options(&session_options(settings, purpose));
        }
        Self {
            target,
            tls: Mutex::new(None),
            slots: Arc::new(Semaphore::new(settings.connections)),
            waits: WaitCounter::default(),
            idle: Arc::default(),
            settings: settings.clone(),
            purpose,
        }
    }

    /// The database, without a password.
    pub(crate) fn name(&self) -> &str {
        &self.target.name
    }

    /// Whether nothing may be kept on a connection from one transaction to the next.
    pub(crate) fn has_pooler(&self) -> bool {
        self.settings.pooler
    }

    /// What a transaction has to begin with where connections cannot be told.
    pub(crate) fn begin(&self) -> String {
        let mode = if self.purpose == Purpose::Read { " READ ONLY" } else { "" };
        let timeout = self.settings.statement_timeout.as_millis();
        let path = self.target.search_path().map(|names| format!("; SET LOCAL search_path = {names}"));
        let path = path.unwrap_or_default();
        format!("BEGIN{mode}; SET LOCAL statement_timeout = {timeout}; SET LOCAL jit = off{path}")
    }

    /// Connections that are open and not in use, and the most there can be.
    pub(crate) fn idle(&self) -> (usize, usize) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).len();
        (idle, self.settings.connections)
    }

    /// What of it is in use.
    pub(crate) fn usage(&self) -> Usage {
        let (idle, slots) = self.idle();
        let (waits, waited) = (self.waits.count(), self.waits.total());
        Usage { idle, slots, free: self.slots.available_permits(), waits, waited, ..Usage::default() }
    }

    /// Slots that nobody holds.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.slots.available_permits()
    }

    /// A connection that is idle, or a new one; waits for one for as long as the settings say. `fresh` is for
    /// those who have met a broken one: where one is broken, others may be.
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
            let link = nearest(&self.idle);
            match link {
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

    /// A connection that does not count among those of the pool.
    pub(crate) async fn connect(&self) -> Result<Link, PoolError> {
        self.connect_hearing(|_| {}).await
    }

    /// The same, telling what the server says of itself.
    pub(crate) async fn connect_hearing(
        &self,
        mut hear: impl FnMut(AsyncMessage) + Send + 'static,
    ) -> Result<Link, PoolError> {
        let tls = self.tls()?;
        let connecting = self.target.config.connect(tls.clone());
        let connected = tokio::time::timeout(CONNECT, connecting).await.map_err(|_| PoolError::Slow)?;
        let (client, mut connection) = connected.map_err(PoolError::Refused)?;
        tokio::spawn(async move {
            while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
                match message {
                    Ok(message) => hear(message),
                    Err(error) => {
                        tracing::debug!("a connection to the database ended: {error}");
                        break;
                    }
                }
            }
        });
        let (cancel, runtime) = (client.cancel_token(), Handle::current().id());
        Ok(Link { cancel, client, statements: Statements::default(), tls, runtime })
    }

    fn tls(&self) -> Result<Tls, PoolError> {
        let mut made = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tls) = &*made {
            return Ok(tls.clone());
        }
        let tls = Tls::new(&self.target.trust).map_err(PoolError::Certificates)?;
        *made = Some(tls.clone());
        Ok(tls)
    }
}

/// The connection to take of those that are idle: one of this thread's runtime if there is one, for with another's each
/// message wakes two threads; and the one that was used last.
fn nearest(idle: &Idle) -> Option<Box<Link>> {
    let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
    let own = Handle::current().id();
    let last = idle.len().checked_sub(1)?;
    let place = idle.iter().rposition(|link| link.runtime == own).unwrap_or(last);
    Some(idle.remove(place))
}

/// Compiling expressions takes longer than any read should, and the bound on rows makes the database think that
/// it might pay.
fn session_options(settings: &Settings, purpose: Purpose) -> String {
    let timeout = settings.statement_timeout.as_millis();
    let read_only = if purpose == Purpose::Read { " -c default_transaction_read_only=on" } else { "" };
    format!("-c statement_timeout={timeout} -c jit=off{read_only}")
}

/// An open connection.
pub(crate) struct Link {
    client: Client,
    cancel: CancelToken,
    statements: Statements,
    tls: Tls,
    /// Where its messages are read and written.
    runtime: Id,
}

impl Link {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

/// The right to use a connection. Dropped while a statement is under way, as the future of a read is when its
/// client goes away, it has the database end the statement.
pub(crate) struct Lease {
    /// Present until it is dropped.
    link: Option<Box<Link>>,
    idle: Idle,
    slot: Option<OwnedSemaphorePermit>,
    busy: bool,
}

impl Lease {
    /// The connection, which is not given back until [`Self::done`].
    #[expect(clippy::expect_used, reason = "the connection is there until the lease is dropped")]
    pub(crate) fn begin(&mut self) -> &mut Link {
        self.busy = true;
        self.link.as_mut().expect("a lease has a connection")
    }

    /// Nothing is under way any more.
    pub(crate) fn done(&mut self) {
        self.busy = false;
    }
}

impl Link {
    /// A statement, prepared where it is not yet.
    pub(crate) async fn prepare(&mut self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.find(sql) {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.keep(sql, &statement);
        Ok(statement)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        if !self.busy {
            if !link.client.is_closed() {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
            }
            return;
        }
        let slot = self.slot.take();
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let Link { client, cancel, tls, .. } = *link;
            // What was to be cancelled may be over by now, so the connection is not used again: the database
            // might end the next statement instead.
            let _ = tokio::time::timeout(CANCEL, cancel.cancel_query(tls)).await;
            drop(client);
            drop(slot);
        });
    }
}

/// Prepared statements by their text, in two generations: when the newer one is full it becomes the older.
#[derive(Default)]
struct Statements {
    newer: HashMap<Box<str>, Statement, RandomState>,
    older: HashMap<Box<str>, Statement, RandomState>,
}

impl Statements {
    fn find(&mut self, sql: &str) -> Option<Statement> {
        if let Some(statement) = self.newer.get(sql) {
            return Some(statement.clone());
        }
        let statement = self.older.remove(sql)?;
        self.keep(sql, &statement);
        Some(statement)
    }

    fn keep(&mut self, sql: &str, statement: &Statement) {
        if self.newer.len() >= STATEMENTS / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(sql.into(), statement.clone());
    }
}
