//! The change feed: notifications of triggers, or the position of the write-ahead log if there are none.
//!
//! A notification of the triggers in [`triggers`] names the record. Without them the position of the log is polled a few
//! times a second while there are listeners; if it has moved, anything may have changed. Behind a pooler, which cannot
//! pass notifications on, the position is always polled. A lost connection counts as a change of anything.

mod triggers;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::{Change, Changes};

use crate::database::Database;
use crate::error::{BoxError, with_causes};
use crate::pool::Pool;
use crate::pool::replicas::{Replicas, WRITE_POSITION, query_position};

/// The interval at which the position of the log is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The delay before connecting again.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// The longest wait for an answer, after which the connection counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which a connection that only receives notifications is checked: nothing else shows that it is lost.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

const LISTEN: &str = "LISTEN mesh_changes";
const IS_ALIVE: &str = "SELECT 1";
const FIND_TRIGGERS: &str = "SELECT 1 FROM pg_catalog.pg_trigger WHERE tgname = 'mesh_changes' LIMIT 1";

impl Database {
    /// Returns a future that notifies `changes` of writes to the database. It never ends and has to be spawned.
    pub fn watch(&self, changes: Changes) -> impl Future<Output = ()> + Send + 'static {
        let (pool, replicas) = (Arc::clone(&self.listening), Arc::clone(&self.replicas));
        async move {
            let mut is_first = true;
            let mut last = String::new();
            loop {
                let begun = Instant::now();
                let Err(error) = listen(&pool, &replicas, &changes, &mut is_first).await;
                let error = with_causes(&*error);
                // While the database is unavailable, each attempt fails immediately for the same reason.
                if error != last || begun.elapsed() > CHECK_INTERVAL {
                    tracing::warn!("cannot listen for changes of the database: {error}");
                }
                last = error;
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
        }
    }
}

/// Notifies `changes` until the connection fails. `is_first` states whether there was no connection before.
async fn listen(
    pool: &Pool,
    replicas: &Replicas,
    changes: &Changes,
    is_first: &mut bool,
) -> Result<Infallible, BoxError> {
    let (link, mut notifications) = pool.connect_listener().await?;
    let mut has_triggers = false;
    if !pool.has_pooler() {
        with_timeout(link.execute(LISTEN)).await??;
        has_triggers = !with_timeout(link.query_once(FIND_TRIGGERS, &[])).await??.is_empty();
    }
    // There were no notifications of writes since the last connection was lost.
    if !std::mem::take(is_first) {
        with_timeout(replicas.require_current(&link)).await??;
    }
    changes.notify(Change::anything());
    let mut last_position = None;
    loop {
        if link.is_replaced() {
            return Err("the primary was replaced".into());
        }
        let change = if has_triggers {
            let Ok(received) = tokio::time::timeout(CHECK_INTERVAL, notifications.recv()).await else {
                with_timeout(link.query_once(IS_ALIVE, &[])).await??;
                continue;
            };
            parse_notification(received.ok_or("the connection ended")?.payload())
        } else {
            changes.wanted().await;
            let position = with_timeout(query_position(&link, WRITE_POSITION)).await??;
            let last = std::mem::replace(&mut last_position, position);
            if last.is_none() || last == position {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
            Change::anything()
        };
        // Reads that follow the notification must see the change.
        with_timeout(replicas.require_current(&link)).await??;
        changes.notify(change);
        while let Ok(notification) = notifications.try_recv() {
            changes.notify(parse_notification(notification.payload()));
        }
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
