//! Messages between the servers of one database: a write that one server has answered is visible to reads of all servers, also
//! if replicas answer them.
//!
//! Each server listens on a connection to the primary and acknowledges the position of each write, so that the reply to a
//! write can wait for all servers.
//!
//! A server has received all messages only while its connection works. It therefore sends a query over that connection
//! a few times a second, and each result grants a lease of [`LEASE`], because messages arrive before results. Without a
//! lease, a server reads from the primary instead. A sender waits no longer than a lease, because a server that has not
//! acknowledged by then has lost its lease.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use tokio_postgres::Notification;
use tokio_postgres::types::PgLsn;

use crate::error::{BoxError, with_causes};
use crate::pool::Pool;
use crate::pool::link::Link;
use crate::replicas::Replicas;
use crate::sql::TextParam;

/// The statements that subscribe to messages.
const LISTEN: &str = "LISTEN mesh_announcements; LISTEN mesh_acknowledgements";
/// The channel of [`ACKNOWLEDGE`].
const ACKNOWLEDGEMENTS: &str = "mesh_acknowledgements";
const ACKNOWLEDGE: &str = "SELECT pg_notify('mesh_acknowledgements', $1::text)";
/// Takes a shared lock, by which listening servers are counted.
const REGISTER: &str = "SELECT pg_backend_pid(), pg_advisory_lock_shared(7815104, 972318)";

/// Announces the position of the log if other servers listen, and returns it with their number. The parameters are the
/// process id of the connection that listens, and a token.
const ANNOUNCE_POSITION: &str = "SELECT position, others, CASE WHEN others > 0 THEN \
       pg_notify('mesh_announcements', 'written ' || position::text || ' ' || $2::text) END \
     FROM (SELECT pg_current_wal_lsn() AS position, ( \
         SELECT count(*) FROM pg_catalog.pg_locks \
         WHERE locktype = 'advisory' AND classid = 7815104::oid AND objid = 972318::oid AND objsubid = 2 AND granted \
         AND pid <> $1::integer AND database = \
           (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) \
     ) AS others OFFSET 0) AS it";

/// The time after sending a successful query for which the received messages are complete.
const LEASE: Duration = Duration::from_secs(2);
/// The interval of the queries that renew the lease.
const RENEW_INTERVAL: Duration = Duration::from_millis(500);
/// The time limit of these queries.
const RENEW_TIMEOUT: Duration = Duration::from_secs(1);
/// The delay before connecting again.
const RECONNECT_DELAY: Duration = Duration::from_millis(250);
/// The maximum number of tokens in one notification. PostgreSQL limits the length of notifications.
const TOKENS: usize = 200;

/// The servers of one database as seen by one of them.
pub(crate) struct OtherServers {
    pool: Arc<Pool>,
    replicas: Arc<Replicas>,
    leased_until: Mutex<Option<Instant>>,
    /// The acknowledgements of the announcements that wait for them, by token.
    waiting: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// The prefix of the tokens of this server.
    token_prefix: String,
    next_token: AtomicU64,
    started: AtomicBool,
    /// The process id of the connection that listens; 0 without a connection.
    process: AtomicI32,
}

/// A message that other servers acknowledge.
pub(crate) struct Announcement<'a> {
    other_servers: &'a OtherServers,
    /// The token, which the message must contain.
    token: String,
    /// A permit for each server that has acknowledged.
    acknowledgements: Arc<Semaphore>,
}

impl OtherServers {
    pub(crate) fn new(pool: Arc<Pool>, replicas: Arc<Replicas>) -> Self {
        Self {
            pool,
            replicas,
            leased_until: Mutex::default(),
            waiting: Mutex::default(),
            token_prefix: format!("{:016x}", RandomState::new().hash_one("other_servers")),
            next_token: AtomicU64::new(0),
            started: AtomicBool::new(false),
            process: AtomicI32::new(0),
        }
    }

    /// Starts listening in the current runtime, unless it was started before or there is a pooler, through which
    /// listening is impossible.
    pub(crate) fn start(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.pool.has_pooler() || self.is_started() || self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let other_servers = Arc::downgrade(self);
        runtime.spawn(async move {
            while let Some(other_servers) = other_servers.upgrade() {
                let Err(error) = other_servers.listen().await;
                *other_servers.leased_until.lock() = None;
                other_servers.process.store(0, Ordering::Relaxed);
                let error = with_causes(&*error);
                tracing::debug!("the connection for messages of other servers failed: {error}");
                drop(other_servers);
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
        });
    }

    /// Returns whether [`Self::start`] has started listening.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Returns whether this server has received all messages that were acknowledged.
    pub(crate) fn has_lease(&self) -> bool {
        self.leased_until.lock().is_some_and(|end| Instant::now() < end)
    }

    /// Prepares to receive the acknowledgements of a message that is about to be sent.
    fn announce(&self) -> Announcement<'_> {
        let token = format!("{}{:x}", self.token_prefix, self.next_token.fetch_add(1, Ordering::Relaxed));
        let acknowledgements = Arc::new(Semaphore::new(0));
        self.waiting.lock().insert(token.clone(), Arc::clone(&acknowledgements));
        Announcement { other_servers: self, token, acknowledgements }
    }

    /// Announces that the connection has committed a write. Later reads on this server see the write. Reads on other
    /// servers see it once they have acknowledged the announcement, which is returned with the number of these servers.
    pub(crate) async fn announce_write(&self, link: &Link) -> Option<(Announcement<'_>, i64)> {
        if self.replicas.is_empty() {
            return None;
        }
        if !self.is_started() {
            self.replicas.require_writes_of(link).await;
            return None;
        }
        let announcement = self.announce();
        // A server that is not counted here starts listening later, and then requires the current position.
        let process = self.process.load(Ordering::Relaxed).to_string();
        let params = [TextParam::text(&process), TextParam::text(&announcement.token)];
        let announcing = tokio::time::timeout(LEASE, link.query_once(ANNOUNCE_POSITION, &params)).await;
        let rows = announcing.ok().and_then(Result::ok).unwrap_or_default();
        let row = rows.first();
        self.replicas.require(link, row.map(|row| row.get::<_, PgLsn>(0).into()));
        Some((announcement, row?.get(1)))
    }

    /// Listens until the connection fails.
    async fn listen(&self) -> Result<Infallible, BoxError> {
        let (link, mut messages) = self.pool.connect_listener().await?;
        link.execute(LISTEN).await?;
        let rows = link.query_once(REGISTER, &[]).await?;
        self.process.store(rows.first().map_or(0, |row| row.get(0)), Ordering::Relaxed);
        // Earlier messages were not received.
        self.replicas.require_current(&link).await?;
        loop {
            if link.is_replaced() {
                return Err("the primary was replaced".into());
            }
            let sent = Instant::now();
            tokio::time::timeout(RENEW_TIMEOUT, link.execute("SELECT 1")).await??;
            self.process_messages(&link, None, &mut messages).await?;
            *self.leased_until.lock() = Some(sent + LEASE);
            // The clock is also checked while messages arrive without a pause.
            let renewal = sent + RENEW_INTERVAL;
            while Instant::now() < renewal
                && let Ok(message) = tokio::time::timeout_at(renewal.into(), messages.recv()).await
            {
                let message = message.ok_or("the connection ended")?;
                self.process_messages(&link, Some(message), &mut messages).await?;
            }
        }
    }

    /// Applies the messages that have arrived, and acknowledges them.
    async fn process_messages(
        &self,
        link: &Link,
        first: Option<Notification>,
        messages: &mut mpsc::UnboundedReceiver<Notification>,
    ) -> Result<(), BoxError> {
        let mut tokens = Vec::new();
        for message in first.into_iter().chain(std::iter::from_fn(|| messages.try_recv().ok())) {
            if message.channel() == ACKNOWLEDGEMENTS {
                let waiting = self.waiting.lock();
                let acknowledged = message.payload().split(' ').filter_map(|token| waiting.get(token));
                acknowledged.for_each(|acknowledgements| acknowledgements.add_permits(1));
            } else if let Some(token) = self.apply(link, message.payload())
                // A server does not acknowledge its own messages.
                && !token.starts_with(&self.token_prefix)
            {
                tokens.push(token.to_owned());
            }
        }
        for tokens in tokens.chunks(TOKENS) {
            link.query_once(ACKNOWLEDGE, &[TextParam::text(&tokens.join(" "))]).await?;
        }
        Ok(())
    }

    /// Applies a message and returns its token; `None` if the message is invalid.
    fn apply<'t>(&self, link: &Link, message: &'t str) -> Option<&'t str> {
        let (position, token) = message.strip_prefix("written ")?.split_once(' ')?;
        self.replicas.require(link, Some(position.parse::<PgLsn>().ok()?.into()));
        token.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(token)
    }
}

impl Announcement<'_> {
    /// Waits until this number of other servers have acknowledged the message, or their leases have expired.
    pub(crate) async fn wait_for_acknowledgements(self, others: i64) {
        let acknowledging = self.acknowledgements.acquire_many(u32::try_from(others).unwrap_or(0));
        if tokio::time::timeout(LEASE, acknowledging).await.is_err() {
            tracing::debug!("a server has not acknowledged a message in time; its lease has expired");
        }
    }
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        self.other_servers.waiting.lock().remove(&self.token);
    }
}
