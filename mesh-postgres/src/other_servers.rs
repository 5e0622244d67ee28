//! Messages between the servers of one database: a session was ended, or a server has written up to a log position.
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
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mesh_integrity::SessionId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client};

use self::revoked_sessions::RevokedSessions;
use crate::catalog::rows;
use crate::error::with_causes;
use crate::pool::{Link, Pool};
use crate::replicas::Replicas;

/// Where servers tell things.
pub(crate) const ANNOUNCEMENTS: &str = "mesh_told";
/// Where they say that they have heard them.
const ACKNOWLEDGEMENTS: &str = "mesh_heard";
/// Each server that listens holds this lock together with the others, so that they can be counted.
const LISTENING: (i32, i32) = (7_815_104, 972_318);
/// For how long an answer vouches for what was heard before it was asked for.
const LEASE: Duration = Duration::from_secs(2);
/// How often an answer is asked for, and how long one may take.
const PING: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(1));
/// How long to wait before connecting again, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Tokens in one notice, whose length the database bounds.
const TOKENS: usize = 200;

/// The other servers of the same database, and this one among them.
pub(crate) struct OtherServers {
    pool: Arc<Pool>,
    replicas: Arc<Replicas>,
    /// Sessions that were ended.
    pub(crate) revoked: RevokedSessions,
    begin: Instant,
    /// Until when there is a lease, in milliseconds after `begin`.
    leased_until: AtomicU64,
    waiting: Mutex<HashMap<String, mpsc::UnboundedSender<()>>>,
    /// What all tokens of this server begin with, and how many there were.
    tokens: (String, AtomicU64),
    started: AtomicBool,
    /// The database's process for the connection that listens; 0 where there is none.
    process: AtomicI32,
}

/// Waits until all servers have heard something.
pub(crate) struct Waiting<'a> {
    other_servers: &'a OtherServers,
    pub(crate) token: String,
    heard: mpsc::UnboundedReceiver<()>,
}

impl OtherServers {
    pub(crate) fn new(pool: Arc<Pool>, replicas: Arc<Replicas>) -> Self {
        Self {
            pool,
            replicas,
            revoked: RevokedSessions::default(),
            begin: Instant::now(),
            leased_until: AtomicU64::new(0),
            waiting: Mutex::default(),
            tokens: (format!("{:016x}", RandomState::new().hash_one("other_servers")), AtomicU64::new(0)),
            started: AtomicBool::new(false),
            process: AtomicI32::new(0),
        }
    }

    /// Begins to listen, once, in the runtime that calls it first. Through a pooler nobody can listen.
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
                let error = other_servers.listen(&mut wait).await;
                other_servers.leased_until.store(0, Ordering::Release);
                other_servers.process.store(0, Ordering::Relaxed);
                tracing::debug!("other servers are not heard for a moment: {error}");
                drop(other_servers);
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(BACKOFF.1);
            }
        });
    }

    /// Whether others can be heard at all.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Whether all is known that others have told.
    pub(crate) fn has_heard_all(&self) -> bool {
        self.millis(Instant::now()) < self.leased_until.load(Ordering::Acquire)
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begin).as_millis()).unwrap_or(u64::MAX)
    }

    /// Something is about to be told.
    pub(crate) fn expect(&self) -> Waiting<'_> {
        let (server, count) = &self.tokens;
        let token = format!("{server}{:x}", count.fetch_add(1, Ordering::Relaxed));
        let (sender, heard) = mpsc::unbounded_channel();
        self.waiting().insert(token.clone(), sender);
        Waiting { other_servers: self, token, heard }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<()>>> {
        self.waiting.lock()
    }

    /// What was committed on the connection is seen by all reads after this, on whatever server: on this one from
    /// now on, on the others when what is returned has been waited for.
    pub(crate) async fn has_written(&self, client: &Client) -> Option<(Waiting<'_>, usize)> {
        if self.replicas.are_none() {
            return None;
        }
        if !self.is_started() {
            self.replicas.has_written(client).await;
            return None;
        }
        let waiting = self.expect();
        // Whoever is not counted begins to listen after this, and asks for the position then.
        let tell = format!(
            "SELECT position, others, CASE WHEN others > 0 THEN \
                 pg_notify('{ANNOUNCEMENTS}', 'written ' || position || ' {token}') END \
             FROM (SELECT pg_current_wal_lsn() AS position, ({count}) AS others OFFSET 0) AS it",
            token = waiting.token,
            count = self.count_others()
        );
        let told = rows(client, &tell).await.ok();
        let row = told.as_ref().and_then(|rows| rows.first());
        self.replicas.need(row.and_then(|row| Replicas::parse(row.get(0)?)).unwrap_or(u64::MAX));
        Some((waiting, row.and_then(|row| row.get(1)?.parse().ok())?))
    }

    /// How many other servers listen, as a statement.
    pub(crate) fn count_others(&self) -> String {
        let (class, number) = LISTENING;
        let process = self.process.load(Ordering::Relaxed);
        format!(
            "SELECT count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND classid = {class} \
             AND objid = {number} AND objsubid = 2 AND granted AND pid <> {process} AND database = \
             (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"
        )
    }

    /// Listens until the connection fails, and says how it has.
    async fn listen(&self, wait: &mut Duration) -> String {
        match self.try_listen(wait).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn try_listen(&self, wait: &mut Duration) -> Result<std::convert::Infallible, String> {
        let (sender, mut notices) = mpsc::unbounded_channel();
        let hear = move |message| {
            if let AsyncMessage::Notification(notice) = message {
                // Where nobody listens any more, the connection ends soon.
                let _ = sender.send((notice.channel() == ACKNOWLEDGEMENTS, notice.payload().to_owned()));
            }
        };
        let link: Link = self.pool.connect_with(hear).await.map_err(|error| with_causes(&error))?;
        let (class, number) = LISTENING;
        let listen = format!(
            "LISTEN {ANNOUNCEMENTS}; LISTEN {ACKNOWLEDGEMENTS}; SELECT pg_backend_pid(), pg_advisory_lock_shared({class}, {number})"
        );
        let client = link.client();
        let listening = rows(client, &listen).await.map_err(|error| with_causes(&error))?;
        let process = listening.first().and_then(|row| row.get(0)?.parse().ok());
        self.process.store(process.unwrap_or(0), Ordering::Relaxed);
        *wait = BACKOFF.0;
        // What was told before this was told to others only.
        self.replicas.has_written(client).await;
        self.revoked.forget();
        loop {
            let asked = Instant::now();
            let answer = tokio::time::timeout(PING.1, client.simple_query("SELECT 1")).await;
            answer.map_err(|_| "no answer".to_owned())?.map_err(|error| with_causes(&error))?;
            self.hear_waiting(client, None, &mut notices).await?;
            self.revoked.load(client).await?;
            self.leased_until.store(self.millis(asked + LEASE), Ordering::Release);
            let next = tokio::time::sleep(PING.0);
            tokio::pin!(next);
            loop {
                tokio::select! {
                    () = &mut next => break,
                    notice = notices.recv() => {
                        let notice = notice.ok_or("the connection ended")?;
                        self.hear_waiting(client, Some(notice), &mut notices).await?;
                    }
                }
            }
        }
    }

    /// Takes in all that has come, and says so.
    async fn hear_waiting(
        &self,
        client: &Client,
        first: Option<(bool, String)>,
        notices: &mut mpsc::UnboundedReceiver<(bool, String)>,
    ) -> Result<(), String> {
        let mut next = first.or_else(|| notices.try_recv().ok());
        let mut heard = Vec::new();
        while let Some((is_answer, text)) = next {
            if is_answer {
                text.split(' ').for_each(|token| self.answered(token));
            } else if let Some(token) = self.told(&text)
                // What this server has told itself needs no answer.
                && !token.starts_with(&self.tokens.0)
            {
                heard.push(token.to_owned());
            }
            next = notices.try_recv().ok();
        }
        for tokens in heard.chunks(TOKENS) {
            let answer = format!("NOTIFY {ACKNOWLEDGEMENTS}, '{}'", tokens.join(" "));
            client.batch_execute(&answer).await.map_err(|error| with_causes(&error))?;
        }
        Ok(())
    }

    /// One more server has heard, for which somebody here may wait.
    fn answered(&self, token: &str) {
        if let Some(waiting) = self.waiting().get(token) {
            let _ = waiting.send(());
        }
    }

    /// Takes something in that was told. It comes back with its token, which is fit to be sent on.
    fn told<'t>(&self, text: &'t str) -> Option<&'t str> {
        let words: Vec<&str> = text.split(' ').collect();
        let token = match words.as_slice() {
            ["written", position, token] => {
                self.replicas.need(Replicas::parse(position)?);
                *token
            }
            ["ended", session, until, token] => {
                self.revoked.insert(SessionId::parse(session)?, until.parse().ok()?);
                *token
            }
            _ => return None,
        };
        token.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(token)
    }
}

impl Waiting<'_> {
    /// Waits until so many other servers have heard it.
    pub(crate) async fn all_have_heard(mut self, others: usize) {
        let hearing = async {
            for _ in 0..others {
                if self.heard.recv().await.is_none() {
                    return;
                }
            }
        };
        if tokio::time::timeout(LEASE, hearing).await.is_err() {
            tracing::debug!("a server that listens has not said that it heard; by now it asks the primary");
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.other_servers.waiting().remove(&self.token);
    }
}
