//! The change feed: notifications of triggers, or the position of the write-ahead log if there are none.
//!
//! A notification of the triggers in [`triggers`] names the record. Without them the position of the log is polled a few
//! times a second while there are listeners; if it has moved, anything may have changed. Behind a pooler, which cannot
//! pass notifications on, the position is always polled. A lost connection counts as a change of anything.

mod triggers;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mesh_plan::{Change, Changes};
use tokio::sync::mpsc;
use tokio_postgres::AsyncMessage;

use crate::database::Database;
use crate::error::with_causes;
use crate::pool::replicas::{Replicas, WRITTEN, position};
use crate::pool::{Link, Pool};
use crate::sql;

/// The interval at which the position of the log is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The delay before connecting again, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

const LISTEN: &str = "LISTEN mesh_changes";
const FIND_TRIGGERS: &str = "SELECT 1 FROM pg_catalog.pg_trigger WHERE tgname = 'mesh_changes' LIMIT 1";

impl Database {
    /// Returns a future that notifies `changes` of writes to the database. It never ends and has to be spawned.
    pub fn watch(&self, changes: Changes) -> impl Future<Output = ()> + Send + 'static {
        watch(Arc::clone(&self.listening), Arc::clone(&self.replicas), changes)
    }
}

async fn watch(pool: Arc<Pool>, replicas: Arc<Replicas>, changes: Changes) {
    let mut wait = BACKOFF.0;
    let mut first = true;
    loop {
        match Listener::connect(&pool).await {
            Ok(mut listener) => {
                wait = BACKOFF.0;
                // Writes since the last connection was lost were not notified.
                if !std::mem::take(&mut first) {
                    replicas.require_writes_of(listener.link.client()).await;
                }
                changes.notify(Change::anything());
                let error = listener.run(&replicas, &changes).await;
                tracing::warn!("the connection for changes of the database failed: {error}");
            }
            Err(error) => tracing::warn!("cannot listen for changes of the database: {error}"),
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(BACKOFF.1);
    }
}

/// A connection that receives notifications.
struct Listener {
    link: Link,
    notifications: mpsc::UnboundedReceiver<String>,
    has_triggers: bool,
}

impl Listener {
    async fn connect(pool: &Pool) -> Result<Self, String> {
        let (sender, notifications) = mpsc::unbounded_channel();
        let on_message = move |message| {
            if let AsyncMessage::Notification(notification) = message {
                // Without a receiver the connection is about to be closed.
                let _ = sender.send(notification.payload().to_owned());
            }
        };
        let link = pool.connect_with(on_message).await.map_err(|error| with_causes(&error))?;
        let mut has_triggers = false;
        if !pool.has_pooler() {
            link.client().batch_execute(LISTEN).await.map_err(|error| with_causes(&error))?;
            let triggers = sql::query(link.client(), FIND_TRIGGERS, &[]).await;
            has_triggers = !triggers.map_err(|error| with_causes(&error))?.is_empty();
        }
        Ok(Self { link, notifications, has_triggers })
    }

    /// Notifies `changes` until the connection fails, and returns the error.
    async fn run(&mut self, replicas: &Replicas, changes: &Changes) -> String {
        let mut last_position = None;
        loop {
            let change = if self.has_triggers {
                match self.notifications.recv().await {
                    Some(notification) => parse_notification(&notification),
                    None => return "the connection ended".to_owned(),
                }
            } else {
                changes.wanted().await;
                let position = match position(self.link.client(), WRITTEN).await {
                    Ok(position) => position,
                    Err(error) => return with_causes(&error),
                };
                let last = std::mem::replace(&mut last_position, position);
                if last.is_none() || last == position {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    continue;
                }
                Change::anything()
            };
            // Reads that follow the notification must see the change.
            replicas.require_writes_of(self.link.client()).await;
            changes.notify(change);
            while let Ok(notification) = self.notifications.try_recv() {
                changes.notify(parse_notification(&notification));
            }
        }
    }
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
