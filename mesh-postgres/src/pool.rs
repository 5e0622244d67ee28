//! A bounded pool of connections. Reads share half of them; any other statement uses one exclusively while it runs.

mod batches;
pub(crate) mod connect_url;
pub(crate) mod connection;
pub(crate) mod error_kind;
mod host_search;
pub(crate) mod hosts;
pub(crate) mod role;
mod shared;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use mesh_backend::pool::{Purpose, RowBudget, Servers, Slots};
use mesh_plan::backend::Usage;
use tokio_postgres::Row;

use self::batches::Batches;
use self::connect_url::ConnectUrl;
pub(crate) use self::connection::PoolError;
use self::connection::{Connection, ConnectionWithNotifications};
use self::hosts::Hosts;
use self::shared::{LOCK_TIMEOUT, STATEMENT_TIMEOUT, SharedConnections};
use crate::settings::Settings;
use crate::sql::TextParam;

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

/// The right to use a connection.
pub(crate) type Lease = mesh_backend::pool::Lease<Connection>;

/// Connections to one server. A slot is held while a connection is in use. If the statement of a connection is
/// cancelled, its slot is held until the connection is closed.
pub(crate) struct Pool {
    url: ConnectUrl,
    purpose: Purpose,
    settings: Settings,
    begin: Arc<str>,
    slots: Slots<Connection>,
    /// The connections that reads share, which need no slots.
    shared: Arc<SharedConnections>,
    pub(crate) batches: Arc<Batches>,
}

impl Pool {
    pub(crate) fn new(mut url: ConnectUrl, settings: &Settings, purpose: Purpose) -> Self {
        let milliseconds = |timeout: Duration| timeout.as_millis().to_string();
        let mut parameters = Vec::from(SESSION.map(|(name, value)| (name, value.to_owned())));
        parameters.extend(url.search_path().map(|path| ("search_path", path)));
        let mut begin = String::from("BEGIN");
        if purpose == Purpose::Read {
            begin.push_str(" READ ONLY");
            if url.hosts.is_checked() && !settings.pooler {
                // If this session were read-only, the check could not see whether the transactions of the host are.
                url.after_check = "SET default_transaction_read_only = on".to_owned();
            } else {
                parameters.push(("default_transaction_read_only", "on".to_owned()));
            }
        }
        let mut shared_url = url.clone();
        shared_url.add_options(&parameters);
        let timeout = milliseconds(STATEMENT_TIMEOUT.min(settings.statement_timeout));
        let lock_timeout = milliseconds(LOCK_TIMEOUT);
        shared_url.add_options(&[("statement_timeout", timeout), ("lock_timeout", lock_timeout)]);
        parameters.push(("statement_timeout", milliseconds(settings.statement_timeout)));
        if settings.pooler {
            begin.extend(parameters.iter().map(|(name, value)| format!("; SET LOCAL {name} = {value}")));
        } else {
            url.add_options(&parameters);
        }
        // Behind a pooler a read is a transaction of several statements, and statements of other reads must not come in
        // between.
        let is_shared = purpose == Purpose::Read && !settings.pooler && settings.statements > 0;
        let max_shared = if is_shared { settings.connections / 2 } else { 0 };
        let shared = SharedConnections::new(shared_url, settings, max_shared);
        Self {
            url,
            purpose,
            begin: begin.into(),
            slots: Slots::new(settings.connections - max_shared, settings.idle_timeout, settings.wait),
            batches: Batches::new(Arc::clone(&shared)),
            shared,
            settings: settings.clone(),
        }
    }

    /// Returns the URL of the database without a password.
    pub(crate) fn name(&self) -> &str {
        &self.url.name
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
        let mut usage = self.slots.usage(self.settings.connections);
        usage.idle += shared - shared_in_use;
        usage.free += self.shared.max() - shared_in_use;
        usage
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
            Some(rows) => rows.map_err(PoolError::Failed),
            None => {
                let run = |lease: Lease| async move { lease.query_in_transaction(sql, params, budget).await };
                Box::pin(self.slots.run(self, run)).await
            }
        }
    }

    /// Runs statements without parameters in a transaction.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), PoolError> {
        let connection = self.take(false).await?;
        let running = async {
            connection.begin().await?;
            connection.execute(sql).await?;
            connection.end("COMMIT").await
        };
        running.await.map_err(PoolError::Failed)
    }

    /// Takes a connection ([`Slots::take`]).
    pub(crate) async fn take(&self, fresh: bool) -> Result<Lease, PoolError> {
        self.slots.take(self, fresh).await
    }

    /// Opens a connection that needs no slot, for work whose duration depends on a client.
    pub(crate) async fn take_extra(&self) -> Result<Lease, PoolError> {
        self.slots.take_extra(self).await
    }

    /// Returns the hosts that connections are opened to.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.url.hosts
    }

    /// Opens a connection outside of the pool, and returns it with the notifications that it receives.
    pub(crate) async fn connect_listener(&self) -> Result<ConnectionWithNotifications, PoolError> {
        host_search::open(&self.url, &self.settings, &self.begin).await
    }
}

impl Servers for Pool {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, PoolError> {
        Ok(self.connect_listener().await?.0)
    }

    /// A write waits for a standby to be promoted.
    fn is_temporary(&self, error: &PoolError) -> bool {
        let waits_for_promotion = self.purpose == Purpose::Write && self.url.hosts.count() > 1;
        error.is_full() || waits_for_promotion && matches!(error, PoolError::NoHost(_))
    }
}
