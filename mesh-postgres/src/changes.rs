//! The change feed: notifications of triggers, and the transactions that have ended.
//!
//! A notification of the triggers in [`triggers`] names the record. All other tables and views are polled: while there are
//! listeners, a snapshot is taken a few times a second, which differs from the last one if a transaction that has written
//! anything has ended. Then any row may have changed, except those of the tables whose triggers report every change.
//! Behind a pooler, which cannot pass notifications on, everything is polled. A lost connection counts as a change of
//! anything.

mod coverage;
pub(crate) mod triggers;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::{Change, Changes};
use tokio::time::MissedTickBehavior;
use tokio_postgres::Error;

use crate::database::Database;
use crate::error::{BoxError, with_causes};
use crate::pool::connection::Connection;
use coverage::Coverage;

/// The interval at which snapshots are compared.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The delay before connecting again.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// The longest wait for an answer, after which the connection counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest time between equal messages about a lost connection.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

const LISTEN: &str = "LISTEN mesh_changes";
/// The transactions that a read would see. It also changes with commits that the log does not show yet, or that a read does
/// not see although the log shows them, because the database waits for a standby.
const SNAPSHOT: &str = "SELECT pg_catalog.txid_current_snapshot()::text";

/// Notifies `changes` of writes to the database. It never ends.
pub(crate) async fn watch(database: Database, changes: Changes) {
    let mut is_first = true;
    let mut last = String::new();
    loop {
        let begun = Instant::now();
        let Err(error) = listen(&database, &changes, &mut is_first).await;
        let error = with_causes(&*error);
        // While the database is unavailable, each attempt fails immediately for the same reason.
        if error != last || begun.elapsed() > LOG_INTERVAL {
            tracing::warn!("cannot listen for changes of the database: {error}");
        }
        last = error;
        tokio::time::sleep(RECONNECT_DELAY).await;
    }
}

/// Notifies `changes` until the connection fails. `is_first` states whether there was no connection before.
async fn listen(database: &Database, changes: &Changes, is_first: &mut bool) -> Result<Infallible, BoxError> {
    let (pool, replicas) = (&database.listening, &database.replicas);
    let (connection, mut notifications) = pool.connect_listener().await?;
    if !pool.has_pooler() {
        with_timeout(connection.execute(LISTEN)).await??;
    }
    // There were no notifications of writes since the last connection was lost.
    if !std::mem::take(is_first) {
        with_timeout(replicas.require_current(&connection)).await??;
    }
    changes.notify(Change::anything());
    let mut poll = Poll { has_pooler: pool.has_pooler(), ..Poll::default() };
    let mut times = tokio::time::interval(POLL_INTERVAL);
    times.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if connection.is_replaced() {
            return Err("the primary was replaced".into());
        }
        let due = async {
            times.tick().await;
            changes.wanted().await;
        };
        let change = tokio::select! {
            received = notifications.recv() => {
                Some(parse_notification(received.ok_or("the connection ended")?.payload()))
            }
            () = due => with_timeout(poll.next(&connection, database.default_schema())).await??,
        };
        if let Some(change) = change {
            // Reads that follow the notification must see the change.
            with_timeout(replicas.require_current(&connection)).await??;
            changes.notify(change);
        }
        while let Ok(notification) = notifications.try_recv() {
            changes.notify(parse_notification(notification.payload()));
        }
    }
}

/// What the last poll has found.
#[derive(Default)]
struct Poll {
    has_pooler: bool,
    snapshot: Option<String>,
    coverage: Coverage,
}

impl Poll {
    /// Returns what may have changed since the last poll; before the first one, that is anything.
    async fn next(
        &mut self,
        connection: &Connection,
        default_schema: Option<&String>,
    ) -> Result<Option<Change>, Error> {
        let snapshot = connection.query_once(SNAPSHOT, &[]).await?.first().map(|row| row.get::<_, String>(0));
        if snapshot == self.snapshot {
            return Ok(None);
        }
        self.snapshot = snapshot;
        let mut coverage = Coverage::default();
        if !self.has_pooler {
            coverage = Coverage::read(connection, default_schema).await?;
        }
        // A table whose triggers were just created may have changed before.
        let change = match coverage.version == self.coverage.version && !coverage.tables.is_empty() {
            true => Change::outside(Arc::clone(&coverage.tables)),
            false => Change::anything(),
        };
        self.coverage = coverage;
        Ok(Some(change))
    }
}

/// Waits for an answer of the database, for a limited time.
async fn with_timeout<T>(answer: impl Future<Output = T>) -> Result<T, BoxError> {
    let answered = tokio::time::timeout(ANSWER_TIMEOUT, answer).await;
    answered.map_err(|_| "the connection does not answer".into())
}

/// Parses a notification of the triggers.
fn parse_notification(text: &str) -> Change {
    let parts: Vec<String> = serde_json::from_str(text).unwrap_or_default();
    match parts.as_slice() {
        [entity, id] => Change::record(entity.as_str(), id.as_str()),
        [entity] => Change::entity(entity.as_str()),
        _ => Change::anything(),
    }
}
