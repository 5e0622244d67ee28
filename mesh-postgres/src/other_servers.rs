//! Messages between the servers of one database: a write that one server has answered is visible to later reads of all servers,
//! also if replicas answer them.
//!
//! Each server listens on a connection to the primary. A server announces the position of a write before it answers the write.
//! Before a read from a replica, a server sends a query over the connection on which it listens: messages arrive before
//! later results, so it has then heard of all writes that were answered before the read. If this fails, it reads from the primary.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Notification;
use tokio_postgres::types::PgLsn;

use crate::error::{BoxError, with_causes};
use crate::pool::Pool;
use crate::pool::connection::Connection;
use crate::replicas::Replicas;
use crate::sql::TextParam;

const LISTEN: &str = "LISTEN mesh_announcements";
/// Takes a shared lock, by which listening servers are counted.
const REGISTER: &str = "SELECT pg_backend_pid(), pg_advisory_lock_shared(7815104, 972318)";
/// Announces the position of the log if other servers listen, and returns it. The parameter is the process id of the
/// connection that listens. The message ends with a token, which only servers of earlier versions use.
const ANNOUNCE: &str = "SELECT position, CASE WHEN others > 0 THEN \
       pg_notify('mesh_announcements', 'written ' || position::text || ' 0') END \
     FROM (SELECT pg_current_wal_lsn() AS position, ( \
         SELECT count(*) FROM pg_catalog.pg_locks \
         WHERE locktype = 'advisory' AND classid = 7815104::oid AND objid = 972318::oid AND objsubid = 2 AND granted \
         AND pid <> $1::integer AND database = \
           (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) \
     ) AS others OFFSET 0) AS it";

/// The interval at which an unused connection is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The time limit for an answer of the primary.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The delay before connecting again.
const RECONNECT_DELAY: Duration = Duration::from_millis(250);

/// A read that waits until all messages up to now have arrived.
type WaitingRead = oneshot::Sender<()>;

/// The servers of one database as seen by one of them.
pub(crate) struct OtherServers {
    pool: Arc<Pool>,
    replicas: Arc<Replicas>,
    waiting: mpsc::UnboundedSender<WaitingRead>,
    /// The reads that wait, until listening is started.
    received: Mutex<Option<mpsc::UnboundedReceiver<WaitingRead>>>,
    is_listening: AtomicBool,
    /// The process id of the connection that listens; 0 before the first connection.
    process: AtomicI32,
}

impl OtherServers {
    pub(crate) fn new(pool: Arc<Pool>, replicas: Arc<Replicas>) -> Self {
        let (waiting, received) = mpsc::unbounded_channel();
        let (is_listening, process) = Default::default();
        Self { pool, replicas, waiting, received: Mutex::new(Some(received)), is_listening, process }
    }

    /// Starts listening in the current runtime, unless it was started before or there is a pooler, through which
    /// listening is impossible.
    pub(crate) fn start(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.pool.has_pooler() {
            return;
        }
        let Some(mut reads) = self.received.lock().take() else { return };
        let other_servers = Arc::downgrade(self);
        runtime.spawn(async move {
            while let Some(other_servers) = other_servers.upgrade() {
                let Err(error) = other_servers.listen(&mut reads).await;
                other_servers.is_listening.store(false, Ordering::Release);
                let error = with_causes(&*error);
                tracing::debug!("the connection for messages of other servers failed: {error}");
                drop(other_servers);
                // These reads go to the primary.
                while reads.try_recv().is_ok() {}
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
        });
    }

    /// Returns whether [`Self::start`] has started listening.
    pub(crate) fn is_started(&self) -> bool {
        self.received.lock().is_none()
    }

    /// Waits until this server has heard of all writes that servers have answered up to now. Returns whether it has.
    pub(crate) async fn catch_up(&self) -> bool {
        let (sender, caught_up) = oneshot::channel();
        self.is_listening.load(Ordering::Acquire)
            && self.waiting.send(sender).is_ok()
            && tokio::time::timeout(ANSWER_TIMEOUT, caught_up).await.is_ok_and(|caught_up| caught_up.is_ok())
    }

    /// Announces that the connection has committed a write, which later reads on all servers must see.
    pub(crate) async fn announce_write(&self, connection: &Connection) {
        if self.replicas.is_empty() {
            return;
        }
        let process = self.process.load(Ordering::Relaxed).to_string();
        let params = [TextParam::text(&process)];
        let announcing = tokio::time::timeout(ANSWER_TIMEOUT, connection.query_once(ANNOUNCE, &params)).await;
        let rows = announcing.ok().and_then(Result::ok).unwrap_or_default();
        self.replicas.require(connection, rows.first().map(|row| row.get::<_, PgLsn>(0).into()));
    }

    /// Listens until the connection fails.
    async fn listen(&self, reads: &mut mpsc::UnboundedReceiver<WaitingRead>) -> Result<Infallible, BoxError> {
        let (connection, mut messages) = self.pool.connect_listener().await?;
        connection.execute(LISTEN).await?;
        let rows = connection.query_once(REGISTER, &[]).await?;
        self.process.store(rows.first().map_or(0, |row| row.get(0)), Ordering::Relaxed);
        // Earlier messages were not received.
        self.replicas.require_current(&connection).await?;
        self.is_listening.store(true, Ordering::Release);
        loop {
            let mut waiting = Vec::new();
            tokio::select! {
                message = messages.recv() => {
                    self.apply(&connection, &message.ok_or("the connection ended")?);
                    continue;
                }
                Some(read) = reads.recv() => waiting.push(read),
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
            waiting.extend(std::iter::from_fn(|| reads.try_recv().ok()));
            if connection.is_replaced() {
                return Err("the primary was replaced".into());
            }
            let answered = tokio::time::timeout(ANSWER_TIMEOUT, connection.execute("SELECT 1")).await;
            while let Ok(message) = messages.try_recv() {
                self.apply(&connection, &message);
            }
            answered??;
            for read in waiting {
                let _ = read.send(());
            }
        }
    }

    /// Applies a message. Unknown messages are ignored.
    fn apply(&self, connection: &Connection, message: &Notification) {
        let position = message.payload().strip_prefix("written ").and_then(|rest| rest.split(' ').next());
        if let Some(position) = position.and_then(|position| position.parse::<PgLsn>().ok()) {
            self.replicas.require(connection, Some(position.into()));
        }
    }
}
