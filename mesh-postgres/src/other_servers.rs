//! Messages between the servers of one database: a session was revoked, or a server has written up to a log position.
//!
//! Each server listens on a connection to the primary and acknowledges every message, so that a reply that other servers
//! must not contradict can wait for all of them.
//!
//! What a server has received is complete only while its connection works. So it sends a query over that connection a few
//! times a second, and each result is a lease of [`LEASE`]: messages arrive before results. Without a lease a server asks
//! the primary instead. A sender waits no longer than a lease, because a server that has not acknowledged by then has
//! lost its own.

pub(crate) mod revoked_sessions;

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mesh_integrity::SessionId;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_postgres::types::PgLsn;
use tokio_postgres::{AsyncMessage, Client, Notification};

use self::revoked_sessions::RevokedSessions;
use crate::error::with_causes;
use crate::pool::Pool;
use crate::pool::replicas::Replicas;
use crate::sql::{self, TextParam};

/// Starts to receive messages.
const LISTEN: &str = "LISTEN mesh_announcements; LISTEN mesh_acknowledgements";
const ACKNOWLEDGEMENTS: &str = "mesh_acknowledgements";
const ACKNOWLEDGE: &str = "SELECT pg_notify('mesh_acknowledgements', $1::text)";
/// Takes a lock that all listening servers share, by which they are counted.
const REGISTER: &str = "SELECT pg_backend_pid(), pg_advisory_lock_shared(7815104, 972318)";

macro_rules! count_others {
    () => {
        "SELECT count(*) FROM pg_catalog.pg_locks \
         WHERE locktype = 'advisory' AND classid = 7815104 AND objid = 972318 AND objsubid = 2 AND granted \
         AND pid <> $1::integer AND database = \
           (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"
    };
}

/// Returns the number of other servers that listen. The parameter is [`OtherServers::process`].
pub(crate) const COUNT_OTHERS: &str = count_others!();
/// Announces the position of the log if other servers listen, and returns it with their number.
const ANNOUNCE_POSITION: &str = concat!(
    "SELECT position, others, CASE WHEN others > 0 THEN \
       pg_notify('mesh_announcements', 'written ' || position || ' ' || $2::text) END \
     FROM (SELECT pg_current_wal_lsn() AS position, (",
    count_others!(),
    ") AS others OFFSET 0) AS it"
);

/// The time for which received messages are complete after a query was sent that has succeeded.
const LEASE: Duration = Duration::from_secs(2);
/// The interval of the queries that renew the lease.
const RENEW_INTERVAL: Duration = Duration::from_millis(500);
/// The time limit of these queries.
const RENEW_TIMEOUT: Duration = Duration::from_secs(1);
/// The delay before connecting again, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// The maximum number of tokens in one notification. PostgreSQL limits the length of notifications.
const TOKENS: usize = 200;

/// The servers of one database as seen by one of them.
pub(crate) struct OtherServers {
    pool: Arc<Pool>,
    replicas: Arc<Replicas>,
    /// The sessions that were revoked.
    pub(crate) revoked: RevokedSessions,
    epoch: Instant,
    /// The end of the lease, in milliseconds after `epoch`.
    leased_until: AtomicU64,
    /// Senders to announcements that wait for acknowledgements, by token.
    waiting: Mutex<HashMap<String, mpsc::UnboundedSender<()>>>,
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
    token: String,
    acknowledgements: mpsc::UnboundedReceiver<()>,
}

impl OtherServers {
    pub(crate) fn new(pool: Arc<Pool>, replicas: Arc<Replicas>) -> Self {
        Self {
            pool,
            replicas,
            revoked: RevokedSessions::default(),
            epoch: Instant::now(),
            leased_until: AtomicU64::new(0),
            waiting: Mutex::default(),
            token_prefix: format!("{:016x}", RandomState::new().hash_one("other_servers")),
            next_token: AtomicU64::new(0),
            started: AtomicBool::new(false),
            process: AtomicI32::new(0),
        }
    }

    /// Starts to listen in the current runtime, unless it was started before or there is a pooler, through which listening
    /// is impossible.
    pub(crate) fn start(self: &Arc<Self>) {
        if self.pool.has_pooler() || self.started.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let other_servers = Arc::downgrade(self);
        runtime.spawn(async move {
            let mut wait = BACKOFF.0;
            while let Some(other_servers) = other_servers.upgrade() {
                let Err(error) = other_servers.listen(&mut wait).await;
                other_servers.leased_until.store(0, Ordering::Release);
                other_servers.process.store(0, Ordering::Relaxed);
                tracing::debug!("the connection for messages of other servers failed: {error}");
                drop(other_servers);
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(BACKOFF.1);
            }
        });
    }

    /// Whether [`Self::start`] has started to listen.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Whether this server has received all messages that were acknowledged.
    pub(crate) fn has_lease(&self) -> bool {
        self.millis(Instant::now()) < self.leased_until.load(Ordering::Acquire)
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_millis()).unwrap_or(u64::MAX)
    }

    /// Prepares to receive the acknowledgements of a message that is about to be sent.
    pub(crate) fn announce(&self) -> Announcement<'_> {
        let token = format!("{}{:x}", self.token_prefix, self.next_token.fetch_add(1, Ordering::Relaxed));
        let (sender, acknowledgements) = mpsc::unbounded_channel();
        self.waiting.lock().insert(token.clone(), sender);
        Announcement { other_servers: self, token, acknowledgements }
    }

    /// Announces that the connection has committed a write. Later reads on this server see the write; those on other
    /// servers do when the announcement, which is returned with their number, is acknowledged.
    pub(crate) async fn announce_write(&self, client: &Client) -> Option<(Announcement<'_>, i64)> {
        if self.replicas.is_empty() {
            return None;
        }
        if !self.is_started() {
            self.replicas.require_writes_of(client).await;
            return None;
        }
        let announcement = self.announce();
        // A server that is not counted starts to listen after this, and then requires the current position.
        let params = [self.process(), TextParam::text(&announcement.token)];
        let rows = sql::query(client, ANNOUNCE_POSITION, &params).await.unwrap_or_default();
        let row = rows.first();
        self.replicas.require(row.map_or(u64::MAX, |row| row.get::<_, PgLsn>(0).into()));
        Some((announcement, row?.get(1)))
    }

    /// Returns the process id of the connection that listens as a parameter of [`COUNT_OTHERS`].
    pub(crate) fn process(&self) -> TextParam<'static> {
        TextParam(Some(self.process.load(Ordering::Relaxed).to_string().into()))
    }

    /// Listens until the connection fails. A connection that works resets `wait`.
    async fn listen(&self, wait: &mut Duration) -> Result<Infallible, String> {
        let (sender, mut messages) = mpsc::unbounded_channel();
        let on_message = move |message| {
            if let AsyncMessage::Notification(message) = message {
                // Without a receiver the connection is about to be closed.
                let _ = sender.send(message);
            }
        };
        let link = self.pool.connect_with(on_message).await.map_err(|error| with_causes(&error))?;
        let client = link.client();
        client.batch_execute(LISTEN).await.map_err(|error| with_causes(&error))?;
        let rows = sql::query(client, REGISTER, &[]).await.map_err(|error| with_causes(&error))?;
        self.process.store(rows.first().map_or(0, |row| row.get(0)), Ordering::Relaxed);
        *wait = BACKOFF.0;
        // Earlier messages were not received.
        self.replicas.require_writes_of(client).await;
        self.revoked.invalidate();
        loop {
            let sent = Instant::now();
            let reply = tokio::time::timeout(RENEW_TIMEOUT, client.simple_query("SELECT 1")).await;
            reply.map_err(|_| "no response".to_owned())?.map_err(|error| with_causes(&error))?;
            self.process_messages(client, None, &mut messages).await?;
            self.revoked.load(client).await?;
            self.leased_until.store(self.millis(sent + LEASE), Ordering::Release);
            let next = tokio::time::sleep(RENEW_INTERVAL);
            tokio::pin!(next);
            loop {
                tokio::select! {
                    () = &mut next => break,
                    message = messages.recv() => {
                        let message = message.ok_or("the connection ended")?;
                        self.process_messages(client, Some(message), &mut messages).await?;
                    }
                }
            }
        }
    }

    /// Applies the messages that have arrived, and acknowledges them.
    async fn process_messages(
        &self,
        client: &Client,
        first: Option<Notification>,
        messages: &mut mpsc::UnboundedReceiver<Notification>,
    ) -> Result<(), String> {
        let mut next = first.or_else(|| messages.try_recv().ok());
        let mut tokens = Vec::new();
        while let Some(message) = next {
            if message.channel() == ACKNOWLEDGEMENTS {
                message.payload().split(' ').for_each(|token| self.acknowledged(token));
            } else if let Some(token) = self.apply(message.payload())
                // This server does not acknowledge its messages to itself.
                && !token.starts_with(&self.token_prefix)
            {
                tokens.push(token.to_owned());
            }
            next = messages.try_recv().ok();
        }
        for tokens in tokens.chunks(TOKENS) {
            let tokens = TextParam(Some(tokens.join(" ").into()));
            sql::query(client, ACKNOWLEDGE, &[tokens]).await.map_err(|error| with_causes(&error))?;
        }
        Ok(())
    }

    /// Records the acknowledgement of another server.
    fn acknowledged(&self, token: &str) {
        if let Some(sender) = self.waiting.lock().get(token) {
            let _ = sender.send(());
        }
    }

    /// Applies a message and returns its token; `None` if the message is invalid.
    fn apply<'t>(&self, message: &'t str) -> Option<&'t str> {
        let parts: Vec<&str> = message.split(' ').collect();
        let token = match parts.as_slice() {
            ["written", position, token] => {
                self.replicas.require(position.parse::<PgLsn>().ok()?.into());
                *token
            }
            ["revoked", session, until, token] => {
                self.revoked.insert(SessionId::parse(session)?, until.parse().ok()?);
                *token
            }
            _ => return None,
        };
        token.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(token)
    }
}

impl Announcement<'_> {
    /// Returns the token, which the message must contain.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Waits until this number of other servers have acknowledged the message, or their leases have expired.
    pub(crate) async fn acknowledged_by(mut self, others: i64) {
        let acknowledging = async {
            for _ in 0..others {
                if self.acknowledgements.recv().await.is_none() {
                    return;
                }
            }
        };
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
