//! A bounded pool of connections. Reads share half of them; any other statement uses one exclusively while it runs.

mod batches;
pub(crate) mod connect_url;
pub(crate) mod connection;
mod error;
mod host_search;
pub(crate) mod hosts;
pub(crate) mod role;
mod shared;
mod tls;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_backend::pool::{IdleConnections, RowBudget};
use mesh_plan::backend::{Usage, WaitCounter};
use tokio::sync::Semaphore;
use tokio_postgres::Row;

use self::batches::Batches;
use self::connect_url::ConnectUrl;
pub(crate) use self::connection::Lease;
use self::connection::{Connection, ConnectionWithNotifications};
pub(crate) use self::error::{PoolError, is_stale};
use self::hosts::Hosts;
use self::shared::{LOCK_TIMEOUT, STATEMENT_TIMEOUT, SharedConnections};
use crate::settings::Settings;
use crate::sql::TextParam;

/// The interval between attempts to connect to a server that accepts no more connections.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);

/// Settings that change the meaning of texts and conditions. The account, the database or the server may have other values.
/// `lc_monetary` is not among them: amounts of money are stored in the smallest unit of the database's currency.
const SESSION: [(&str, &str); 10] = [
    // Compiling expressions takes longer than most reads, and the limit on rows makes the planner overestimate its benefit.
    ("jit", "off"),
    ("datestyle", "ISO"),
    ("intervalstyle", "postgres"),
    ("timezone", "UTC"),
    ("extra_float_digits", "1"),
    ("bytea_output", "hex"),
    ("standard_conforming_strings", "on"),
    ("array_nulls", "on"),
    ("transform_null_equals", "off"),
    ("xmloption", "content"),
];

/// The purpose of the connections of a pool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Transactions are read-only.
    Read,
    /// Transactions can write.
    Write,
}

/// Connections to one server. A slot is held while a connection is in use. If the statement of a connection is
/// cancelled, its slot is held until the connection is closed.
pub(crate) struct Pool {
    target: ConnectUrl,
    purpose: Purpose,
    settings: Settings,
    begin: Arc<str>,
    slots: Arc<Semaphore>,
    waits: WaitCounter,
    idle: Arc<IdleConnections<Arc<Connection>>>,
    /// The connections that reads share, which need no slots.
    shared: Arc<SharedConnections>,
    pub(crate) batches: Arc<Batches>,
}

impl Pool {
    pub(crate) fn new(mut target: ConnectUrl, settings: &Settings, purpose: Purpose) -> Self {
        let milliseconds = |timeout: Duration| timeout.as_millis().to_string();
        let mut parameters = Vec::from(SESSION.map(|(name, value)| (name, value.to_owned())));
        parameters.extend(target.search_path().map(|path| ("search_path", path)));
        let mut begin = String::from("BEGIN");
        if purpose == Purpose::Read {
            begin.push_str(" READ ONLY");
            if target.hosts.is_checked() && !settings.pooler {
                // If this session were read-only, the check could not see whether the transactions of the host are.
                target.after_check = "SET default_transaction_read_only = on".to_owned();
            } else {
                parameters.push(("default_transaction_read_only", "on".to_owned()));
            }
        }
        let mut shared_target = target.clone();
        shared_target.add_options(&parameters);
        let timeout = milliseconds(STATEMENT_TIMEOUT.min(settings.statement_timeout));
        let lock_timeout = milliseconds(LOCK_TIMEOUT);
        shared_target.add_options(&[("statement_timeout", timeout), ("lock_timeout", lock_timeout)]);
        parameters.push(("statement_timeout", milliseconds(settings.statement_timeout)));
        if settings.pooler {
            begin.extend(parameters.iter().map(|(name, value)| format!("; SET LOCAL {name} = {value}")));
        } else {
            target.add_options(&parameters);
        }
        // Behind a pooler a read is a transaction of several statements, and statements of other reads must not come in
        // between.
        let is_shared = purpose == Purpose::Read && !settings.pooler && settings.statements > 0;
        let max_shared = if is_shared { settings.connections / 2 } else { 0 };
        let shared = SharedConnections::new(shared_target, settings, max_shared);
        Self {
            target,
            purpose,
            begin: begin.into(),
            slots: Arc::new(Semaphore::new(settings.connections - max_shared)),
            waits: WaitCounter::default(),
            idle: IdleConnections::new(settings.idle_timeout),
            batches: Batches::new(Arc::clone(&shared)),
            shared,
            settings: settings.clone(),
        }
    }

    /// Returns the URL of the database without a password.
    pub(crate) fn name(&self) -> &str {
        &self.target.name
    }

    /// Returns whether a pooler may assign another connection to each transaction. If so, no state is kept on a
    /// connection.
    pub(crate) fn has_pooler(&self) -> bool {
        self.settings.pooler
    }

    /// Returns the time limit of a statement.
    pub(crate) fn statement_timeout(&self) -> Duration {
        self.settings.statement_timeout
    }

    /// Returns the time that a request waits for a connection.
    pub(crate) fn wait(&self) -> Duration {
        self.settings.wait
    }

    /// Returns usage figures.
    pub(crate) fn usage(&self) -> Usage {
        let (shared, shared_in_use) = self.shared.counts();
        Usage {
            idle: self.idle.count() + shared - shared_in_use,
            slots: self.settings.connections,
            free: self.slots.available_permits() + self.shared.max() - shared_in_use,
            waits: self.waits.count(),
            waited: self.waits.total(),
            ..Usage::default()
        }
    }

    /// Returns the number of shared connections and the number of answers on them.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> (usize, u64) {
        (self.shared.counts().0, self.shared.answers())
    }

    /// Runs an idempotent statement in a transaction: on a shared connection if it is a read that may share one, else on an
    /// exclusive one. Repeats it on a new connection if the first one is stale, and stops reading when the rows exceed the
    /// budget.
    pub(crate) async fn read(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Result<Vec<Row>, PoolError> {
        match self.shared.read(sql, params, budget).await {
            Some(rows) => Ok(rows?),
            None => Box::pin(self.run_within(sql, params, budget)).await,
        }
    }

    async fn run_within(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Result<Vec<Row>, PoolError> {
        let mut fresh = false;
        loop {
            let lease = self.take(fresh).await?;
            match lease.query_in_transaction(sql, params, budget).await {
                Err(PoolError::Failed(error)) if !fresh && is_stale(&error) => {
                    tracing::debug!("running a statement again on a new connection: {error}");
                    fresh = true;
                }
                rows => return rows,
            }
        }
    }

    /// Runs statements without parameters in a transaction.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), PoolError> {
        let connection = self.take(false).await?;
        connection.begin().await?;
        connection.execute(sql).await?;
        Ok(connection.end("COMMIT").await?)
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
        let connection = match self.take_idle(fresh) {
            Some(connection) => connection,
            // Boxed, so that reads which need no new connection do not carry the state of opening one.
            None => Box::pin(self.connect_or_wait()).await?,
        };
        Ok(Lease { connection, idle: Arc::clone(&self.idle), slot: Some(slot) })
    }

    /// Opens a connection that needs no slot, for work whose duration depends on a client.
    pub(crate) async fn take_extra(&self) -> Result<Lease, PoolError> {
        let connection = Arc::new(self.connect().await?);
        Ok(Lease { connection, idle: Arc::clone(&self.idle), slot: None })
    }

    /// Returns an idle connection that is open. `fresh` closes all that are idle.
    fn take_idle(&self, fresh: bool) -> Option<Arc<Connection>> {
        std::iter::from_fn(|| self.idle.take()).find(|connection| !fresh && !connection.is_closed())
    }

    /// Opens a connection. If the server accepts no more connections, waits until it does or until a connection of the
    /// pool is idle, for as long as the settings allow. A write also waits for a standby to be promoted.
    async fn connect_or_wait(&self) -> Result<Arc<Connection>, PoolError> {
        let start = Instant::now();
        loop {
            match self.connect().await {
                Err(error) if self.is_temporary(&error) && start.elapsed() < self.settings.wait => {}
                connection => return connection.map(Arc::new),
            }
            tokio::time::sleep(ROOM_INTERVAL).await;
            if let Some(connection) = self.take_idle(false) {
                self.waits.record(start.elapsed());
                return Ok(connection);
            }
        }
    }

    /// Returns whether an error may be temporary, so that a request waits.
    fn is_temporary(&self, error: &PoolError) -> bool {
        let waits_for_promotion = self.purpose == Purpose::Write && self.target.hosts.count() > 1;
        error.is_full() || waits_for_promotion && matches!(error, PoolError::NoHost(_))
    }

    /// Returns the hosts that connections are opened to.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.target.hosts
    }

    /// Opens a connection outside of the pool.
    pub(crate) async fn connect(&self) -> Result<Connection, PoolError> {
        Ok(self.connect_listener().await?.0)
    }

    /// Opens a connection outside of the pool, and returns it with the notifications that it receives.
    pub(crate) async fn connect_listener(&self) -> Result<ConnectionWithNotifications, PoolError> {
        host_search::open(&self.target, &self.settings, &self.begin).await
    }
}
